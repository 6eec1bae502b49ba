"""`open_study`: open the results of a study at any time."""

from __future__ import annotations

import os

import numpy as np

from blocks.arguments import flag
from blocks.errors import PlantloopError, shown
from blocks.files import is_inside
from cosim.study.cases import Cases, columns_of
from cosim.study.folder import url_of
from cosim.study.opened import StudyResult
from cosim.study.store import INPUTS, StudyStore
from cosim.study.study import Study
from cosim.study.study_plan import CASES, VERSION, StudyPlan


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
    PlantloopError     no such folder, or it is damaged; a case is to be run again with another model

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
            return as_stored(study, store)
        if not m.study_file or store.folder.remote:
            return None
        inputs, file = store.folder.path(INPUTS), store.folder.path(f"{INPUTS}/{m.study_file}")
        if not is_inside(file, [inputs]):
            raise PlantloopError(
                f"'{store.folder.url}' names the study file '{m.study_file}', which leads out of it.",
                path=store.folder.url,
                hint="No version writes this: do not trust the folder. Its tables and signals can be read.",
            )
        return as_stored(Study(file, trust=trust), store)

    return StudyResult(store, plan)


def as_stored(study: Study, store: StudyStore) -> StudyPlan:
    """The plan of a study with the cases of its results, which a search has chosen; nan: not done yet.

    Raises
    ------
    PlantloopError     the results are those of another study
    """
    m, plan = store.manifest, study.plan
    now = plan.fingerprints()
    changed = [n for n in dict.fromkeys([*m.fingerprints, *now]) if m.fingerprints.get(n) != now.get(n)]
    if (VERSION not in changed and set(changed) - {CASES}) or (CASES in changed and plan.rebuilt):
        raise PlantloopError(
            f"no case of '{store.folder.url}' can be run again: {', '.join(changed)} changed.",
            path=store.folder.url,
            value=changed,
            hint="Give what was run: open_study(..., study=study). Files that lie elsewhere (named from the "
            "root on, modules in other folders) are not read from a copy.",
        )
    return plan.with_cases(_cases(store, plan)) if CASES in changed else plan


def _cases(store: StudyStore, plan: StudyPlan) -> Cases:
    """The cases that the table of a study says."""
    numbers = range(store.manifest.count)
    seeds = store.table()["seed"].reindex(numbers, fill_value=0)  # as whole numbers: a double rounds them
    table = store.table().reindex(numbers)
    named = {name: columns_of(name, values.shape[1]) for name, values in plan.cases.columns.items()}
    columns = {name: table[parts].to_numpy(dtype=float) for name, parts in named.items()}
    variants = np.zeros(len(table), np.int64)
    if "variant" in table:
        names = table["variant"].tolist()
        variants = np.array([plan.variants.index(n) if n in plan.variants else 0 for n in names])
    return Cases(columns, variants, seeds.to_numpy().astype(np.uint64))
