"""Programs that tests kill: a study, and schedulers and workers of Dask, each a process of its own.

They are divided off from a server that has imported everything, so that each is there at once.
"""

import multiprocessing
import os
import signal
import sys

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload([__name__])

from distributed.cli import dask_scheduler, dask_worker  # noqa: E402

from tests.cosim.study.conftest import noisy_loop  # noqa: E402
from tests.cosim.study.test_study_ends import SAMPLING  # noqa: E402
from tests.cosim.study.test_study_runs import study_of  # noqa: E402


def begin(target, *arguments):
    """The process, which has begun."""
    process = SERVER.Process(target=target, args=arguments)
    process.start()
    return process


def run_study(out, executor, scheduler=None, writes=None):
    """Run the study of these tests, or go on with it; killed in the middle of writing so manieth a file."""
    kill_at_write(out, writes)
    study = study_of(noisy_loop(), sampling=SAMPLING)
    study.run(out, resume=True, workers=2, executor=executor, scheduler=scheduler)


def run_dask(name, log, arguments, out=None, writes=None):
    """A "scheduler" or a "worker" of Dask, with these arguments of its command."""
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(log.parent)
    kill_at_write(out, writes)
    command = {"scheduler": dask_scheduler, "worker": dask_worker}[name].main
    sys.argv = [name, *arguments]
    command([*arguments, "--no-dashboard"], standalone_mode=False)


def kill_at_write(out, writes):
    """Have this process and those it divides off killed when so many files of a folder are to appear."""
    if writes is None:
        return
    replace, count = os.replace, []

    def replaced(begun, target):
        if str(target).startswith(f"{out}{os.sep}"):
            count.append(target)
            if len(count) == writes:
                os.kill(os.getpid(), signal.SIGKILL)
        return replace(begun, target)

    os.replace = replaced
