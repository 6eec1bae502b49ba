"""Many runs described in one place: cases, actions, metrics, requirements; here or on a cluster, resumable.

::

    from cosim.study import Study, open_study

    s = Study("study.toml").run("out/")
    s.table                                  # pandas: one row per case
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cosim.study.opened import StudyResult
    from cosim.study.opening import open_study
    from cosim.study.study import Study

__all__ = ["Study", "StudyResult", "open_study"]


def __getattr__(name: str) -> Any:
    """Loaded when they are first asked for."""
    if name == "Study":
        from cosim.study.study import Study

        return Study
    if name == "StudyResult":
        from cosim.study.opened import StudyResult

        return StudyResult
    if name == "open_study":
        from cosim.study.opening import open_study

        return open_study
    raise AttributeError(f"module 'cosim.study' has no attribute '{name}'")
