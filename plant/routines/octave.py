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

_HELPERS = """
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
    """A MATLAB function; asks its questions one round earlier than it gets the answers."""

    def __init__(self, session: Any, name: str) -> None:
        self._session, self._name = session, name

    def close(self) -> None:
        """End the session."""
        self._session.exit()

    def __call__(self, arguments: Sequence[Any], access: Access) -> Any:
        """Call until nothing new is asked for, then return the value."""
        plain = [np.array(a, dtype=float) if isinstance(a, list) else float(a) for a in arguments]
        self._session.eval("plantloop_known = struct();", verbose=False)
        for _ in range(20):
            self._session.eval("plantloop_asked = ';';", verbose=False)
            found = self._session.feval(self._name, *plain)
            asked = [key for key in str(self._session.pull("plantloop_asked")).split(";") if key]
            if not asked:
                return np.ravel(found).tolist()
            for key in dict.fromkeys(asked):  # fVM_20 asks for VM(20), aRVEL_20_0_20 for the array
                name, *ids = key[1:].split("_")
                ask = access.sysfnc if key.startswith("f") else access.sysary
                answer = ask(name, [int(id) for id in ids])[0]
                self._session.push("plantloop_answer", np.array(answer, dtype=float))
                self._session.eval(f"plantloop_known.('{key}') = plantloop_answer;", verbose=False)
        raise ModelError(f"the MATLAB function {self._name} never stops asking for new states.")
