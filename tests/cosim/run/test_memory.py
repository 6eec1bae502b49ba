"""How much memory a run may take: of the machine, of its container, or as many as most have."""

import pytest

from blocks.errors import PlantloopError
from cosim.run import memory

GB = 2**30


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine of so many pages of 4 kB, in containers whose limit files hold these texts."""

    def made(pages, *limits):
        def asked(name):
            if pages is None:
                raise ValueError(name)
            return {"SC_PHYS_PAGES": pages, "SC_PAGE_SIZE": 4096}[name]

        files = [tmp_path / "not there", *(tmp_path / str(k) for k in range(len(limits)))]
        for file, text in zip(files[1:], limits, strict=True):
            file.write_text(text)
        monkeypatch.setattr(memory.os, "sysconf", asked, raising=False)
        monkeypatch.setattr(memory, "LIMITS", tuple(map(str, files)))
        found = memory.installed.__wrapped__()
        monkeypatch.setattr(memory, "installed", lambda: found)
        return found

    return made


@pytest.mark.parametrize(
    ("pages", "limits", "found"),
    [
        (2 * 2**18, (), 2 * GB),
        (2 * 2**18, ("max\n",), 2 * GB),
        (2 * 2**18, (f"{GB}\n",), GB),
        (2 * 2**18, ("9223372036854771712",), 2 * GB),
        (2 * 2**18, (f"{GB}", f"{GB // 2}"), GB // 2),
        (None, (), 16 * GB),
        (None, (f"{GB}",), GB),
    ],
)
def test_the_least_of_what_is_there_and_what_is_allowed(machine, pages, limits, found):
    assert machine(pages, *limits) == found


def test_three_quarters_of_it_are_for_one_array(machine):
    machine(4 * 2**18)
    memory.check_memory(3 * GB, "the log", "Log less.")
    with pytest.raises(PlantloopError, match=r"the log needs 3 GB .* the 3 GB that may") as caught:
        memory.check_memory(3 * GB + 1, "the log", "Log less.")
    assert caught.value.hint == "Log less." and caught.value.value == 3 * GB + 1
    with pytest.raises(PlantloopError, match=r"needs 1.5e\+290 GB"):
        memory.check_memory(1.5e290 * GB, "the log", "Log less.")
