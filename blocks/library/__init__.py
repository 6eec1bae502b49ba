"""The blocks a diagram is built from, one family per file; each family lists its blocks in ``__all__``.

A family is imported when one of its blocks is first used.
"""

from typing import TYPE_CHECKING

from blocks.exports import Exports, listed_names

if TYPE_CHECKING:  # exactly what the families list, the one place where a block is listed
    from blocks.library.algebraic import *  # noqa: F403
    from blocks.library.assertions import *  # noqa: F403
    from blocks.library.charts import *  # noqa: F403
    from blocks.library.continuous import *  # noqa: F403
    from blocks.library.controllers import *  # noqa: F403
    from blocks.library.converters import *  # noqa: F403
    from blocks.library.delays import *  # noqa: F403
    from blocks.library.derivatives import *  # noqa: F403
    from blocks.library.detect import *  # noqa: F403
    from blocks.library.discrete import *  # noqa: F403
    from blocks.library.elementary import *  # noqa: F403
    from blocks.library.equations import *  # noqa: F403
    from blocks.library.estimators import *  # noqa: F403
    from blocks.library.extremes import *  # noqa: F403
    from blocks.library.filters import *  # noqa: F403
    from blocks.library.flip_flops import *  # noqa: F403
    from blocks.library.friction import *  # noqa: F403
    from blocks.library.governor import *  # noqa: F403
    from blocks.library.hold import *  # noqa: F403
    from blocks.library.linear_algebra import *  # noqa: F403
    from blocks.library.logic import *  # noqa: F403
    from blocks.library.lookup import *  # noqa: F403
    from blocks.library.math import *  # noqa: F403
    from blocks.library.noise import *  # noqa: F403
    from blocks.library.nonlinear import *  # noqa: F403
    from blocks.library.optimal import *  # noqa: F403
    from blocks.library.play import *  # noqa: F403
    from blocks.library.predictive import *  # noqa: F403
    from blocks.library.python_function import *  # noqa: F403
    from blocks.library.recorded import *  # noqa: F403
    from blocks.library.routing import *  # noqa: F403
    from blocks.library.sampled_delays import *  # noqa: F403
    from blocks.library.sampled_filters import *  # noqa: F403
    from blocks.library.scheduling import *  # noqa: F403
    from blocks.library.selection import *  # noqa: F403
    from blocks.library.sources import *  # noqa: F403
    from blocks.library.state_feedback import *  # noqa: F403
    from blocks.library.switching import *  # noqa: F403
    from blocks.library.tables import *  # noqa: F403
    from blocks.library.tracking import *  # noqa: F403
    from blocks.library.unit_conversion import *  # noqa: F403
    from blocks.library.waveforms import *  # noqa: F403

HOMES = listed_names(__name__)
"""Name of every block, and of what state charts are written with, to the module of its family."""

if not TYPE_CHECKING:
    _exports = Exports(__name__, HOMES)
    __getattr__, __dir__ = _exports.get, _exports.dir
