"""The runtime's header as cffi reads it: the compiler's own layout, and what does not fit is refused."""

import subprocess

import numpy as np
import pytest

from cosim.engines.native import bindings, compiler
from cosim.engines.native.build import RUNTIME

STRUCTURES = [
    "pl_args", "pl_row", "pl_method", "pl_equal_steps", "pl_parts", "pl_model", "pl_system", "pl_settings",
    "pl_history", "pl_context", "pl_buffer", "pl_event_log", "pl_log", "pl_counters", "pl_jacobian",
    "pl_frame", "pl_stiff", "pl_run", "pl_batch", "pl_fmu_call", "pl_fmu", "pl_fmu_batch", "pl_foreign",
    "pl_fmu_events", "pl_samples", "pl_fmu_unit", "pl_coupling", "pl_kept", "pl_kept_unit", "pl_lasting",
]  # fmt: skip


def test_every_structure_of_the_header_is_looked_at():
    typedefs, _, _ = bindings.ffi().list_types()
    assert {n for n in typedefs if bindings.ffi().typeof(n).kind == "struct"} == set(STRUCTURES)


def test_places_of_all_fields_are_those_of_the_compiler(tmp_path):
    try:
        cc = compiler.find()
    except compiler.CompilerError as missing:  # pragma: no cover
        pytest.skip(f"no C compiler: {missing}")
    ffi, lines, expected = bindings.ffi(), [], []
    for name in STRUCTURES:
        lines.append(f'    printf("%zu\\n", sizeof({name}));')
        expected.append(ffi.sizeof(name))
        for field in bindings.fields(name):
            lines.append(
                f'    printf("%zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));'
            )
            expected += [ffi.offsetof(name, field), ffi.sizeof(dict(ffi.typeof(name).fields)[field].type)]
    source = tmp_path / "places.c"
    body = "\n".join(lines)
    source.write_text(f'#include "plantloop.h"\n#include <stdio.h>\nint main(void)\n{{\n{body}\n}}\n')
    program = tmp_path / "places"
    subprocess.run([*cc.command, f"-I{RUNTIME}", str(source), "-o", str(program)], check=True)
    said = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    assert [int(n) for n in said.split()] == expected


def test_what_is_kept_says_what_the_header_says():
    from cffi import FFI

    parsed, kept = FFI(), bindings.made(bindings.described())
    parsed.cdef(bindings.declarations())
    for name in STRUCTURES:
        layouts = [[(n, f.offset) for n, f in ffi.typeof(name).fields] for ffi in (parsed, kept)]
        assert layouts[0] == layouts[1], name


def test_what_does_not_fit_is_refused():
    run, context = bindings.new("pl_run"), bindings.new("pl_context")
    with pytest.raises(AttributeError):
        run.paused = 1
    with pytest.raises(TypeError, match="pointer to same type"):
        context.ticks = bindings.pointer(np.zeros(3))  # doubles for integers
    with pytest.raises(TypeError, match="pointer to same type"):
        run.context = run
    with pytest.raises(OverflowError):
        run.index = 2**40
    with pytest.raises((ValueError, BufferError)):
        bindings.pointer(np.zeros((4, 4)).T[::2])  # numbers apart from each other


def test_numbers_of_a_pointer_are_shared():
    array = np.arange(4.0)
    shared = bindings.numbers(bindings.pointer(array), 3)
    shared[1] = 7.0
    assert array.tolist() == [0.0, 7.0, 2.0, 3.0]
    assert bindings.numbers(bindings.ffi().NULL, 0).tolist() == []
