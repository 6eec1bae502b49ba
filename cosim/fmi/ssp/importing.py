"""`import_ssp`: an SSP package as a diagram."""

from __future__ import annotations

import os

from blocks.arguments import file_path, number
from blocks.contract.rate import Rate
from cosim.diagram import Diagram
from cosim.fmi.ssp.archive import DESCRIPTION
from cosim.fmi.ssp.ssd_reader import read_ssp
from cosim.fmi.ssp.ssp_errors import SSPError
from cosim.fmi.ssp.to_diagram import drawn


def import_ssp(
    path: str | os.PathLike[str],
    *,
    variant: str = DESCRIPTION,
    sample: Rate | None = None,
    folder: str | os.PathLike[str] | None = None,
    start_time: float = 0.0,
) -> Diagram:
    """The diagram of an SSP 1.0 or 2.0 package: its FMUs as blocks, nested systems as diagrams inside.

    Naming the file is consent: its FMUs are native code and run with your rights.

    Parameters
    ----------
    variant : str       which .ssd of the package
    sample : s          communication step of the components that our annotation gives none; default that of
                        the FMU's own default experiment
    folder : path       where its FMUs are put; default a temporary one that goes with the diagram
    start_time : s      time of its FMUs when a run begins, as in `FMU`; that of its default experiment is
                        ``read_ssp(path).experiment.start``

    Values of parameter sets become start values; those of outer systems take precedence. Connections convert
    units and apply their transformations; inputs without a connection keep their start value. `read_ssp`
    returns the contents of the file as data, with its default experiment.

    Raises
    ------
    SSPError      no package, an unsafe one, XML that is wrong (with its line), unknown names
    FMUError      an FMU in it cannot be used

    >>> d = import_ssp("drive.ssp")
    >>> r = simulate(d, until=10, coupling="jacobi")
    """
    number(start_time, "import_ssp: start_time", "a time [s]", error=SSPError)
    where = None if folder is None else file_path(folder, "import_ssp: folder", "fmus")
    return drawn(read_ssp(path, variant), sample, where, start_time)


__all__ = ["import_ssp", "read_ssp"]
