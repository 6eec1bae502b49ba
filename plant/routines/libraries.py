"""User subroutines in compiled libraries, called through ctypes.

``usrsub_dll_name`` names a shared library, relative to the model's file; where it does not exist, the same
name with this system's suffix is tried (``ke.dll``: ``ke.so``, ``libke.so``). Functions are found by their
name as written, in lower case, and with Fortran's underscore. C signatures, all arguments pointers::

    void VARSUB(int *id, double *time, double *par, int *npar, int *dflag, int *iflag, double *value);
         also SFOSUB, PFOSUB, GCOSUB, DIFSUB, SENSUB and SEVSUB (without dflag);
         VFOSUB, VTOSUB: double value[3]; GFOSUB: double value[6]; ARYSUB: int *nvalue, double *value
    void COUSUB(int *id, double *time, double *par, int *npar, double *disp, int *ndisp, int *iflag,
                double *phi);
         also COUXX: double partial[ndisp], and COUXX2: double second[ndisp*ndisp]; both optional
    void MOTSUB(int *id, double *time, double *par, int *npar, int *iord, int *iflag, double *value);
    void REQSUB(int *id, double *time, double *par, int *npar, int *iflag, double result[8]);
    void FIESUB(int *id, double *time, double *par, int *npar, double disp[6], double velo[6],
                int *dflag, int *iflag, double field[6], double dfddis[36], double dfdvel[36]);
    void GSESUB(int *id, double *time, double *par, int *npar, int *dflag, int *iflag, int *nstate,
                double *states, int *ninput, double *input, int *noutpt, double *stated, double *output);

A library that asks for states includes ``usersub.h`` of this package, which defines ``c_sysfnc``,
``c_sysary`` and ``c_errmes``. What a library keeps between calls cannot be undone: write it without static
variables.

Source: MotionSolve reference guide, C/C++ calling syntax of each routine.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from blocks.errors import ModelError
from blocks.files import is_file
from plant.elements import Model, UserSubroutine
from plant.routines.access import Access

SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
_SYSFNC = ctypes.CFUNCTYPE(
    None,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_int),
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_double),
    ctypes.POINTER(ctypes.c_int),
)
_SYSARY = ctypes.CFUNCTYPE(
    None,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_int),
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_double),
    ctypes.POINTER(ctypes.c_int),
    ctypes.POINTER(ctypes.c_int),
)


def library_routine(
    model: Model, element: UserSubroutine, kind: str, size: int, name: str = ""
) -> LibraryRoutine:
    """The function of a compiled library that an element names, or another one by its name.

    Raises
    ------
    ModelError    no such library or function, or it does not load
    """
    path = _found(model, element)
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ModelError(
            f"{element.where}: the library {path} does not load: {error}.", path=element.where
        ) from None
    name = name or element.subroutine
    for spelling in (name, name.lower(), f"{name.lower()}_"):
        if hasattr(library, spelling):
            return LibraryRoutine(library, getattr(library, spelling), kind, size)
    raise ModelError(
        f"{element.where}: the library {path} has no function '{name}'.",
        path=element.where,
        value=name,
        hint="Export it with C linkage, or name another one in usrsub_fnc_name.",
    )


def _found(model: Model, element: UserSubroutine) -> Path:
    folder = Path(model.file).parent if model.file else Path.cwd()
    written = (folder / str(element.usrsub_dll_name)).resolve()
    tried = [written, written.with_suffix(SUFFIX), written.with_name(f"lib{written.stem}{SUFFIX}")]
    for path in tried:
        if is_file(path):
            return path
    names = ", ".join(dict.fromkeys(p.name for p in tried))
    raise ModelError(
        f"{element.where}: there is no library {written} (tried {names} in that folder).",
        path=element.where,
        value=element.usrsub_dll_name,
        hint="Build it for this system, or use script_name with a Python file.",
    )


class LibraryRoutine:
    """A compiled routine; called like one of a script."""

    def __init__(self, library: ctypes.CDLL, function: Any, kind: str, size: int) -> None:
        self._library, self._function, self._kind, self._size = library, function, kind, size
        self._access: Access | None = None
        self._error: Exception | None = None
        self._callbacks = (_SYSFNC(self._sysfnc), _SYSARY(self._sysary))  # C keeps pointers to them
        function.restype = None

    def __call__(self, arguments: Sequence[Any], access: Access) -> Any:
        """Call the function; `access` answers its questions."""
        self._access, self._error = access, None
        if hasattr(self._library, "plantloop_access"):
            self._library.plantloop_access(*self._callbacks)
        sizes = self._sizes(arguments)
        results = [(ctypes.c_double * max(n, 1))() for n in sizes]
        given = [_pointer(a) for a in arguments]
        self._function(*given, *results)
        if self._error is not None:
            raise self._error
        found = [list(r[:n]) for r, n in zip(results, sizes, strict=True)]
        return found if self._kind in ("FIESUB", "GSESUB") else found[0]

    def _sizes(self, arguments: Sequence[Any]) -> list[int]:
        """How many numbers each of its results has."""
        if self._kind == "FIESUB":
            return [6, 36, 36]
        if self._kind == "GSESUB":
            return [int(arguments[6]), int(arguments[10])]
        return [self._size]

    def _sysfnc(self, name: bytes, ipar: Any, n: int, state: Any, error: Any) -> None:
        self._answer(error, lambda access: access.sysfnc(name.decode(), ipar[:n])[0], state)

    def _sysary(self, name: bytes, ipar: Any, n: int, states: Any, count: Any, error: Any) -> None:
        found = self._answer(error, lambda access: access.sysary(name.decode(), ipar[:n])[0], states)
        count[0] = len(found)

    def _answer(self, error: Any, ask: Callable[[Access], Any], target: Any) -> list[float]:
        """Write an answer to C memory; what goes wrong is raised when the routine has returned."""
        error[0] = 0
        try:
            if self._access is None:
                raise ModelError("c_sysfnc can only be called from within a subroutine.")
            found = [float(v) for v in np.ravel(ask(self._access))]
        except Exception as fault:
            self._error, error[0] = fault, 1
            return []
        for k, value in enumerate(found):
            target[k] = value
        return found


def _pointer(value: Any) -> Any:
    """What C gets for one argument."""
    if isinstance(value, (bool, int)):
        return ctypes.byref(ctypes.c_int(int(value)))
    if isinstance(value, float):
        return ctypes.byref(ctypes.c_double(value))
    return (ctypes.c_double * max(len(value), 1))(*[float(v) for v in value])
