"""Many runs described in one place: cases, actions, metrics, requirements; here or on a cluster, resumable.

::

    from cosim.study import Study, open_study

    s = Study("study.toml").run("out/")
    s.table                                  # pandas: one row per case
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from blocks.exports import Exports

if TYPE_CHECKING:
    from cosim.study.opened import StudyResult as StudyResult
    from cosim.study.opening import open_study as open_study
    from cosim.study.study import Study as Study

_HOMES = {
    "Study": "cosim.study.study",
    "StudyResult": "cosim.study.opened",
    "open_study": "cosim.study.opening",
}

if not TYPE_CHECKING:  # type checkers see only what is imported above
    _exports = Exports(__name__, _HOMES)
    __getattr__, __dir__ = _exports.get, _exports.dir
