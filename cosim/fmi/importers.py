"""The importer that calls an FMU: our own interface, or another tool behind the same methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cosim.fmi.description import FMUDescription, Interface
from cosim.fmi.interface.component import Component
from cosim.fmi.package import Unpacked

Make = Callable[[FMUDescription, Interface, Unpacked, str, bool], Any]
"""Makes what has the methods of an `AnyComponent`."""


def _fmpy(*given: Any) -> Any:
    from cosim.fmi.fmpy_component import FMPyComponent

    return FMPyComponent(*given)


def _pyfmi(*given: Any) -> Any:
    from cosim.fmi.pyfmi_component import PyFMIComponent

    return PyFMIComponent(*given)


IMPORTERS: dict[str, Make] = {"native": Component, "fmpy": _fmpy, "pyfmi": _pyfmi}


def check_importer(name: str) -> None:
    """Refuse a tool that is not installed.

    Raises
    ------
    FMUError      it is not; the message says how to get it
    """
    if name == "pyfmi":
        from cosim.fmi.pyfmi_component import pyfmi

        pyfmi()
