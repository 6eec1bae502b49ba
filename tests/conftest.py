"""What all tests share."""

import gc
import multiprocessing.util
import os
import signal
import tempfile

import pytest

# SciPy's OpenBLAS wakes its threads for matrices of 4 x 4 too, which wait for a processor where tests run
# in parallel: 3 ms of processor time in place of 0.02. Set before SciPy is imported; children inherit it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.helpers.compilers import quick_compiler
from tests.helpers.memory_folder import memory_folder

# pytest's temporary folders, unless the user named a place. Inherited by test processes, too.
if "TMPDIR" not in os.environ and (folder := memory_folder()):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(folder))
if "CC" not in os.environ:  # processes that tests start inherit it; $CC names another compiler, for all tests
    os.environ["CC"] = quick_compiler()

pytest_plugins = ("tests.helpers.slow_tests", "tests.helpers.checks_page")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Half a million objects are made that live to the end: a collector of garbage finds none of them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # nor looks at them again
        gc.set_threshold(20_000, 20, 20)  # looking every 700 objects took 1 to 2 % of all time
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory):
    """Compiled code and temporary files of compilers stay out of the user's folders.

    The workers of one run share what was compiled, FMUs too; several runs share models with a folder in
    PLANTLOOP_TEST_CACHE.
    """
    own = tmp_path_factory.getbasetemp()
    run = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    shared, units = run / "compiled", run / "units"
    shared.mkdir(mode=0o700, exist_ok=True)
    units.mkdir(exist_ok=True)
    multiprocessing.util.get_temp_dir()  # removed at the process's end: not in what pytest removes
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLANTLOOP_CACHE", os.environ.get("PLANTLOOP_TEST_CACHE", str(shared)))
        patch.setenv("PLANTLOOP_TEST_UNITS", str(units))
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("t")))  # short: names of sockets have a limit
        patch.setattr(tempfile, "tempdir", None)  # found again from TMPDIR
        yield


@pytest.fixture
def garbage_waits():
    """No garbage is collected meanwhile.

    Where calls are nested up to Python's limit, finalizers of what other tests left fail, in the name of the
    test that nests them.
    """
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def interrupts_arrive():
    """SIGINT raises KeyboardInterrupt, also where tests run in a script's background, which ignores it."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
