"""Random draws: known answers of the generator, reproducible and independent substreams, distributions."""

import numpy as np
import pytest

from blocks import BlockError, Integrator, RandomNumber, UniformRandomNumber
from cosim import Diagram, Simulation, simulate
from cosim.engines.reference.draws import draw, philox, stream
from tests.helpers.made import chain

# counter, key, result: the known-answer vectors philox4x32-10 of the Random123 distribution (Salmon et al.),
# file tests/kat_vectors
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text):
    return tuple(int(w, 16) for w in text.split())


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_known_answers_of_philox(counter, key, result):
    assert philox(words(counter), words(key)) == words(result)


def noise(*names: str, n: int = 1) -> Diagram:
    d = Diagram("noise")
    for name in names:
        d.add(name, RandomNumber(np.zeros(n), 1.0, sample=0.01))
    return d


def samples(d, name="a", seed=0, until=1.0):
    return simulate(d, until, seed=seed, engine="reference").ticks(f"{name}.y").values


def test_the_same_seed_gives_the_same_numbers_another_one_others():
    assert samples(noise("a"), seed=5).tobytes() == samples(noise("a"), seed=5).tobytes()
    first, second = samples(noise("a"), seed=5)[:, 0], samples(noise("a"), seed=6)[:, 0]
    assert not np.any(first == second) and abs(np.corrcoef(first, second)[0, 1]) < 0.3


def test_a_block_s_numbers_depend_on_its_path_only():
    alone, among = samples(noise("a")), samples(noise("other", "a", "third"))
    assert alone.tobytes() == among.tobytes()
    assert not np.any(among == samples(noise("other", "a", "third"), "other"))


def test_compiled_code_draws_the_same_numbers_to_the_last_bit():
    d = noise("a", n=3)
    d.add("u", UniformRandomNumber(np.zeros(2), 1.0, sample=0.01))
    for seed in (5, 2**40 + 3):
        compiled, interpreted = (simulate(d, 0.5, seed=seed, engine=e) for e in ("native", "reference"))
        for name in ("a.y", "u.y"):
            assert compiled.ticks(name).values.tobytes() == interpreted.ticks(name).values.tobytes()


def test_components_and_streams_are_independent():
    table = np.hstack([samples(noise("a", "b", n=3), name, until=20.0) for name in ("a", "b")])
    correlation = np.corrcoef(table.T) - np.eye(6)
    assert np.abs(correlation).max() < 4 / np.sqrt(len(table))
    lagged = np.corrcoef(table[1:, 0], table[:-1, 0])[0, 1]
    assert abs(lagged) < 4 / np.sqrt(len(table))


def test_distributions():
    """Moments within four standard errors, for these fixed streams; quantiles by Kolmogorov's bound."""
    n = 4000
    normal = np.array([draw("normal", 1, 1, stream("x.draw"), k)[0] for k in range(1, n + 1)])
    uniform = np.array([draw("uniform", 1, 1, stream("x.draw"), k)[0] for k in range(1, n + 1)])
    assert abs(normal.mean()) < 4 / np.sqrt(n) and abs(normal.var() - 1) < 4 * np.sqrt(2 / n)
    assert abs((normal**4).mean() - 3) < 4 * np.sqrt(96 / n)
    assert uniform.min() >= 0 and uniform.max() < 1
    grid = np.arange(1, n + 1) / n
    assert np.abs(np.sort(uniform) - grid).max() < 1.95 / np.sqrt(n)  # one in a thousand exceeds it


def test_mean_variance_and_limits():
    d = Diagram("two")
    d.add("n", RandomNumber([10.0, -3.0], [4.0, 0.0], sample=0.01, offset=0.005))
    d.add("u", UniformRandomNumber(-2.0, 6.0, sample=0.01))
    r = simulate(d, 20.0, log_at=[0.0], engine="reference")
    n, u = r.ticks("n.y").values, r.ticks("u.y").values
    assert r["n.y"][0].tolist() == [10.0, -3.0]  # before the first tick
    assert n[:, 0].mean() == pytest.approx(10, abs=0.2) and n[:, 0].std() == pytest.approx(2, abs=0.15)
    assert np.all(n[:, 1] == -3.0)
    assert u.min() >= -2 and u.max() < 6 and u.mean() == pytest.approx(2, abs=0.3)


def test_a_snapshot_continues_the_same_stream():
    sim = Simulation(chain(RandomNumber(sample=0.01), Integrator()), seed=3, engine="reference")
    sim.advance(0.5)
    state = sim.snapshot()
    sim.advance(1.0)
    first = sim.value("b2.y")
    sim.restore(state)
    sim.advance(1.0)
    assert sim.value("b2.y") == first
    straight = Simulation(chain(RandomNumber(sample=0.01), Integrator()), seed=3, engine="reference")
    straight.advance(1.0)
    assert straight.value("b1.y") == sim.value("b1.y")


def test_wrong_numbers_are_refused():
    with pytest.raises(BlockError, match=r"variance is -1.0, expected 0 or more"):
        RandomNumber(variance=-1.0, sample=0.1)
    with pytest.raises(BlockError, match=r"low is 2.0, expected at most high"):
        UniformRandomNumber(2.0, 1.0, sample=0.1)
    with pytest.raises(BlockError, match="sizes"):
        RandomNumber([1.0, 2.0], [1.0, 2.0, 3.0], sample=0.1)
