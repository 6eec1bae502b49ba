"""User subroutines in MATLAB code, run by GNU Octave through oct2py where both are installed.

The script's folder is put on Octave's path and the function is called by name, as in
``function value = VARSUB(id, time, par, npar, dflag, iflag)``. ``m_sysfnc`` and ``m_sysary`` answer with the
values the host gives before each call; in the initialisation call they answer 0 and note what is asked for.
"""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Sequence
from typing import Any

import numpy as np

from blocks.errors import ModelError
from plant.elements import Model, UserSubroutine
from plant.routines.access import Access
from plant.routines.scripts import script_path

RECENT = 64
"""So many answers are kept: differences for gradients and rates ask several times for the same values."""

_HELPERS = """
% killed, it writes no octave-workspace into the working folder
crash_dumps_octave_core(false); sighup_dumps_octave_core(false); sigterm_dumps_octave_core(false);
function [value, asked] = plantloop_call(name, known, varargin)
  global plantloop_known plantloop_asked
  plantloop_known = known; plantloop_asked = ';';
  value = feval(name, varargin{:});
  asked = plantloop_asked;
end
function [state, errflg] = m_sysfnc(name, ipar)
  global plantloop_known plantloop_asked
  key = ['f' upper(name) sprintf('_%d', ipar)];
  if isfield(plantloop_known, key), state = plantloop_known.(key);
  else state = 0; plantloop_asked = [plantloop_asked key ';']; end
  errflg = false;
end
function [states, errflg] = m_sysary(name, ipar)
  global plantloop_known plantloop_asked
  key = ['a' upper(name) sprintf('_%d', ipar)];
  if isfield(plantloop_known, key), states = plantloop_known.(key);
  else states = zeros(1, 6); plantloop_asked = [plantloop_asked key ';']; end
  errflg = false;
end
global plantloop_known plantloop_asked
plantloop_known = struct(); plantloop_asked = ';';
"""


def octave_routine(model: Model, element: UserSubroutine) -> OctaveRoutine:
    """The function of a MATLAB script that an element names.

    Raises
    ------
    ModelError    Octave or oct2py is missing
    """
    missing = [] if shutil.which("octave") or shutil.which("octave-cli") else ["GNU Octave"]
    try:
        oct2py = importlib.import_module("oct2py")
    except ImportError:
        missing.append("the Python package oct2py")
        oct2py = None
    if oct2py is None or missing:
        raise ModelError(
            f"{element.where}: interpreter=MATLAB needs {' and '.join(missing)}, not found here.",
            path=element.where,
            value=element.script_name,
            hint="Install them (octave from your system, pip install oct2py), or rewrite it in Python.",
        )
    session = oct2py.Oct2Py()
    session.addpath(str(script_path(model, element).parent))
    session.eval(_HELPERS)
    return OctaveRoutine(session, element.subroutine)


class OctaveRoutine:
    """A MATLAB function; what it has asked for in earlier calls is given with the next one.

    A call takes milliseconds, so one with the numbers of a recent one gets its answer again.
    """

    def __init__(self, session: Any, name: str) -> None:
        self._session, self._name = session, name
        self._asked: dict[str, None] = {}  # keys of all questions so far, in order
        self._recent: dict[Any, list[float]] = {}

    def close(self) -> None:
        """End the session."""
        self._session.exit()

    def __call__(self, arguments: Sequence[Any], access: Access) -> Any:
        """Call until nothing new is asked for, then return the value: once, but for the first time."""
        plain = [np.array(a, dtype=float) if isinstance(a, list) else float(a) for a in arguments]
        known: dict[str, Any] = {"plantloop": 0.0}  # an empty struct does not come through
        for _ in range(20):
            for key in self._asked:
                if key not in known:
                    known[key] = _answer(key, access)
            numbers = tuple(
                (name, np.asarray(v).tobytes()) for name, v in [*known.items(), *enumerate(plain)]
            )
            if numbers in self._recent:
                return list(self._recent[numbers])
            value, asked = self._session.feval("plantloop_call", self._name, known, *plain, nout=2)
            new = [key for key in str(asked).split(";") if key and key not in known]
            if not new:
                return self._kept(numbers, np.ravel(value).tolist())
            self._asked.update(dict.fromkeys(new))
        raise ModelError(f"the MATLAB function {self._name} never stops asking for new states.")

    def _kept(self, numbers: Any, answer: list[float]) -> list[float]:
        if len(self._recent) >= RECENT:
            del self._recent[next(iter(self._recent))]  # the oldest
        self._recent[numbers] = answer
        return list(answer)


def _answer(key: str, access: Access) -> np.ndarray:
    """fVM_20 asks for VM(20), aRVEL_20_0_20 for the array."""
    name, *ids = key[1:].split("_")
    ask = access.sysfnc if key.startswith("f") else access.sysary
    return np.array(ask(name, [int(id) for id in ids])[0], dtype=float)
