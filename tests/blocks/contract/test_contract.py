"""What every block promises; runs on everything the package exports."""

import dataclasses
import inspect
import pathlib
import pickle
import re
import subprocess
import sys
import textwrap

import casadi as ca
import numpy as np
import pytest

import blocks
from blocks import (
    Block,
    BlockError,
    IndexVector,
    ManualSwitch,
    Merge,
    MultiportSwitch,
    Switch,
    VariableIntegerDelay,
)
from blocks.contract.event_memories import Branch, ModeMemory
from blocks.contract.memories import CountedInstants
from blocks.contract.trace import TraceCache, trace
from tests.blocks.examples_table import EXAMPLES
from tests.helpers.solo import Solo

PUBLIC = {name: getattr(blocks, name) for name in dir(blocks)}
EXPORTED = sorted(
    (c for c in PUBLIC.values() if inspect.isclass(c) and issubclass(c, Block) and c is not Block),
    key=lambda c: c.__name__,
)
CASES = [
    pytest.param(block, sizes, id=f"{cls.__name__}{k}")
    for cls, examples in EXAMPLES.items()
    for k, (block, sizes) in enumerate(examples)
]
LOOKS_AT_ONE = (
    IndexVector,
    ManualSwitch,
    Merge,
    MultiportSwitch,
    Switch,
    VariableIntegerDelay,
)  # of its inputs
every_block = pytest.mark.parametrize(("block", "sizes"), CASES)


TRACES = {}  # of the examples: one each for all that only look at it


def solo_of(block, sizes):
    """An example alone."""
    if id(block) not in TRACES:
        TRACES[id(block)] = block, trace(block, sizes)
    return Solo(block, sizes, TRACES[id(block)][1])


def at_random(solo, seed=0):
    """Put a block in the middle of a run: everything at random, instants at whole counts; its inputs."""
    rng = np.random.default_rng(seed)
    scale = 10 ** rng.uniform(-2, 0.5)  # small ones stay within limits, large ones go beyond
    for m in solo.declared.memories:
        whole = (
            len(m.times)
            if isinstance(m, CountedInstants)
            else 1
            if isinstance(m, (ModeMemory, Branch))
            else None
        )
        solo.own[solo.at(m)] = (
            scale * rng.normal(size=m.size) if whole is None else rng.integers(0, whole + 1, size=m.size)
        )
        if m.name == "P":  # a covariance is definite
            solo.own[solo.at(m)] = m.initial + 0.02
    for rate in solo.taken:
        solo.taken[rate] = int(rng.integers(0, 6))
    solo.t = float(rng.uniform(0, 2))
    return [scale * rng.normal(size=i.size) for i in solo.declared.inputs]


def everything(solo, u):
    """All outputs and memory expressions at one point, as bytes."""
    values = {**solo.outputs(u)}
    for name, expression in solo.expressions().items():
        values[f"x {name}"] = solo.evaluate(name, expression, u, solo.t, solo.own)
    return {name: value.tobytes() for name, value in values.items()}


def test_every_exported_block_has_an_example():
    assert [c.__name__ for c in EXPORTED if not EXAMPLES.get(c)] == []


@pytest.mark.parametrize("cls", EXPORTED, ids=lambda c: c.__name__)
def test_every_block_is_exported_frozen_and_documented(cls):
    assert cls.__name__ in blocks.__all__
    assert cls.__dataclass_params__.frozen
    document = cls.__doc__
    assert "Output:" in document
    assert "Direct feedthrough" in document or "No inputs" in document
    for field in dataclasses.fields(cls):
        assert re.search(rf"(?<!\w){field.name}(?!\w)", document), f"{field.name} is not described"


@pytest.mark.parametrize("cls", EXPORTED, ids=lambda c: c.__name__)
def test_the_two_line_use_in_the_docstring_runs(cls):
    class Node(dict):
        def __init__(self, block):
            probe = trace(block, {}, guess=1).declared
            super().__init__({port.name: port for port in (*probe.inputs, *probe.outputs)})

    class Diagram:
        def __init__(self):
            self.added = []

        def add(self, name, block):
            self.added.append(type(block))
            return Node(block)

        def connect(self, output, port):
            assert output is not None and port is not None

    code = textwrap.dedent(cls.__doc__.split("Use::")[1].split("Source:")[0])
    diagram = Diagram()
    exec(code, {**PUBLIC, "np": np, "d": diagram, "source": {"y": 0}, "sink": {"u": 0}})
    assert diagram.added == [cls]


@every_block
def test_evaluating_twice_gives_the_same_bits(block, sizes):
    solo = solo_of(block, sizes)
    u = at_random(solo)
    assert everything(solo, u) == everything(solo, u)


@every_block
@pytest.mark.parametrize("ticking", [True, False])
def test_derived_feedthrough_is_perturbed_feedthrough(block, sizes, ticking):
    if isinstance(block, ManualSwitch):
        pytest.skip("a parameter says which input counts")
    solo = solo_of(block, sizes)
    derived = solo.feedthrough(ticking)
    perturbed = {name: np.zeros_like(mask) for name, mask in derived.items()}
    for seed in range(400):
        if seed >= 20 and all(np.array_equal(perturbed[n], m) for n, m in derived.items()):
            break
        u = at_random(solo, seed)
        if seed >= 20:  # conditions and edges: exactly 0 here, on or off there
            rng = np.random.default_rng(seed)
            u = [rng.choice([0.0, 0.4, 0.7, 1.0, 3.0], v.size) for v in u]
            covariance = any(m.name == "P" for m in solo.declared.memories)  # stays definite
            solo.own = (
                solo.own
                if covariance
                else np.where(
                    rng.random(solo.own.size) < 0.5,
                    rng.integers(0, rng.integers(2, 5), solo.own.size),
                    solo.own,
                )
            )
        start = solo.own.copy()

        def outputs(flat, u=u, start=start):
            parts = np.split(flat, np.cumsum([len(v) for v in u])[:-1]) if u else []
            solo.own = start.copy()
            if ticking:
                solo.refresh(solo.declared.memories, parts)
            return solo.outputs(parts)

        flat = np.concatenate([np.zeros(0), *u])
        reference = outputs(flat)
        for j in range(flat.size):
            moved = flat.copy()
            moved[j] += 0.37
            for name, value in outputs(moved).items():
                perturbed[name][:, j] |= value != reference[name]
    for name, mask in derived.items():
        np.testing.assert_array_equal(perturbed[name], mask, err_msg=name)


@every_block
def test_jacobians_equal_finite_differences(block, sizes):
    solo = solo_of(block, sizes)
    u = at_random(solo, seed=3)
    t, own, p, ticks, *inputs = solo.traced.arguments
    smooth = np.array(
        [not isinstance(m, CountedInstants) for m in solo.declared.memories for _ in range(m.size)], bool
    )
    x = ca.vertcat(own, *inputs)
    varied = np.flatnonzero(np.concatenate([smooth, np.ones(x.numel() - own.numel(), bool)]))
    point = np.concatenate([solo.own, *u])
    expressions = {o.name: o.expression for o in solo.declared.outputs}
    expressions |= {f"memory {name}": e for name, e in solo.expressions().items()}
    for name, expression in expressions.items():
        f = ca.Function("f", [x, t, p, ticks], [expression])
        jacobian = ca.Function("jacobian", [x, t, p, ticks], [ca.jacobian(expression, x)])
        context = (solo.t, solo.p, solo.tick_values())
        exact = np.array(jacobian(point, *context))
        if varied.size:  # a column for each
            steps = 1e-6 * np.eye(point.size)[:, varied]
            there, back = (np.array(f(point[:, None] + s, *context)) for s in (steps, -steps))
            difference = (there - back) / 2e-6
            np.testing.assert_allclose(exact[:, varied], difference, rtol=1e-7, atol=1e-8, err_msg=name)


def changed(value):
    """Another value of the same shape and the same zeros, or None where a field holds no real numbers."""
    if isinstance(value, (bool, str)) or value is None:
        return None
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return None
    if np.issubdtype(np.asarray(value).dtype, np.integer):
        return value[::-1] if isinstance(value, tuple) else None
    return (1.25 * array).tolist()


@every_block
def test_another_number_in_a_field_means_that_number_also_where_the_trace_is_shared(block, sizes):
    cache = TraceCache()
    first = cache.get(block, sizes)
    roles = {q.field: "parameter" for q in first.declared.parameters}
    roles |= {m.field: "initial" for m in first.declared.memories}
    for field in dataclasses.fields(block):
        value = changed(getattr(block, field.name))
        if value is None or field.name == "sizes":  # sizes change the ports: nothing is shared
            continue
        try:
            other = dataclasses.replace(block, **{field.name: value})
        except BlockError:  # it must fit the other fields
            continue
        shared, alone = cache.get(other, sizes), trace(other, sizes)
        if field.name in roles:
            assert shared is first, f"{field.name} is a run-time number: the trace is shared"
        assert shared.declared.ticks == alone.declared.ticks
        assert shared.values(other).times == alone.values(other).times
        one, two = (Solo(other, traced=traced) for traced in (shared, alone))
        assert one.own.tobytes() == two.own.tobytes()
        for seed in range(3):
            u, _ = at_random(one, seed), at_random(two, seed)
            assert everything(one, u) == everything(two, u), field.name


@every_block
def test_a_block_is_a_value(block, sizes):
    assert block == dataclasses.replace(block)
    assert hash(block) == hash(dataclasses.replace(block))
    functions = [f for f in dataclasses.fields(block) if "lambda" in repr(getattr(block, f.name))]
    if not functions:
        assert pickle.loads(pickle.dumps(block)) == block
    called = any(callable(getattr(block, f.name)) for f in dataclasses.fields(block))
    if not functions and not called:
        assert eval(repr(block), PUBLIC) == block


@every_block
def test_nan_is_never_swallowed(block, sizes):
    """A nan at an input reaches every output it feeds, so that the run stops there."""
    if isinstance(block, LOOKS_AT_ONE):
        pytest.skip("passes one input and does not look at the others")
    solo = solo_of(block, sizes)
    u = at_random(solo, seed=5)
    width = np.cumsum([0, *[len(v) for v in u]])
    for k, part in enumerate(u):
        for j in range(part.size):
            bad = [v.copy() for v in u]
            bad[k][j] = np.nan
            solo.refresh(solo.declared.memories, bad)
            outputs = solo.outputs(bad)
            for name, mask in solo.feedthrough(ticking=True).items():
                assert np.all(np.isnan(outputs[name][mask[:, width[k] + j]])), name


def test_importing_blocks_is_light():
    heavy = ("scipy", "control", "networkx", "pandas")
    code = f"import sys, blocks; print([m for m in {heavy} if m in sys.modules])"
    root = pathlib.Path(blocks.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
