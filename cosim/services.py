"""What this package offers to blocks and plants, which know nothing of it: `blocks.contract.services`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ModelServices:
    """See `blocks.contract.services.Services`; what answers is imported when it is asked."""

    def show_model(self, model: Any, out: Any, show: bool, live: bool, options: Mapping[str, Any]) -> Any:
        """The page of a diagram or a block."""
        from cosim.viewer.view_model import view_model

        return view_model(model, out, show, live, options)

    def design_point(
        self, plant: Any, inputs: Any, outputs: Any, at: Any, parameters: Any, sample: Any
    ) -> Any:
        """A linear model at rest, and where that is."""
        from cosim.analysis.design_point import design_point

        return design_point(plant, inputs, outputs, at, parameters, sample)
