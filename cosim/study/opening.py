"""`open_study`: open the results of a study at any time."""

from __future__ import annotations

import os

from blocks.arguments import flag
from blocks.errors import PlantloopError, shown
from blocks.files import is_inside
from cosim.study.folder import url_of
from cosim.study.opened import StudyResult
from cosim.study.store import INPUTS, StudyStore
from cosim.study.study import Study
from cosim.study.study_plan import StudyPlan


def open_study(
    path: str | os.PathLike[str], *, study: Study | None = None, trust: bool = False
) -> StudyResult:
    """The results in a folder that `Study.run` or ``cosim sweep`` has written or is writing.

    Parameters
    ----------
    study : Study     what was run, where its model is not a file: to run single cases again
    trust : bool      allow the Python code that the study file names to run

    Raises
    ------
    PlantloopError     no such folder, or it is damaged

    >>> s = open_study("out/")
    >>> s.table, s.failed, s.case(17).result
    """
    if study is not None and not isinstance(study, Study):
        raise PlantloopError(f"study is {shown(study)}, expected a Study.", value=study)
    flag(trust, "trust")
    store = StudyStore.opened(url_of(path, "the folder of a study"))

    def plan() -> StudyPlan | None:
        m = store.manifest
        if study is not None:
            return study.plan
        if not m.study_file or store.folder.remote:
            return None
        inputs, file = store.folder.path(INPUTS), store.folder.path(f"{INPUTS}/{m.study_file}")
        if not is_inside(file, [inputs]):
            raise PlantloopError(
                f"'{store.folder.url}' names the study file '{m.study_file}', which leads out of it.",
                path=store.folder.url,
                hint="No version writes this: do not trust the folder. Its tables and signals can be read.",
            )
        return Study(file, trust=trust).plan

    return StudyResult(store, plan)
