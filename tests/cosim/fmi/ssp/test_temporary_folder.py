"""The folder with the FMUs of an imported package is there as long as a diagram that was made from it."""

import copy
import gc
import pickle

import pytest

from cosim import FMU, Diagram, export_ssp, import_ssp
from tests.helpers.fmus import build_fmu


@pytest.mark.slow
def test_a_folder_goes_with_the_last_diagram(tmp_path):
    d = Diagram("pack")
    d.add("decay", FMU(build_fmu("dahlquist"), sample=0.1))
    export_ssp(d, tmp_path / "pack.ssp")
    first = import_ssp(tmp_path / "pack.ssp")
    folder = first.holds.path
    others = [copy.deepcopy(first), first.with_parameters(**{"decay.sample": 0.2})]
    assert pickle.loads(pickle.dumps(first)).holds is None  # another process does not own it
    del first
    while others:
        gc.collect()
        assert (folder / others[-1].content("decay").path).is_file()
        others.pop()
    gc.collect()
    assert not folder.exists()
