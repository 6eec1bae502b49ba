"""Every function of NumPy and SciPy: the same on signals as on numbers, or refused by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from blocks.errors import BlockError
from tests.helpers.numpy_on_signals import A, B, U, V, on_symbols, outcome, same

# They write files, print, or ask about NumPy itself.
_NOT_EQUATIONS = (
    "save savetxt savez savez_compressed test info show_config show_runtime get_include fromfile "
    "genfromtxt loadtxt load fromregex setbufsize seterr seterrcall set_printoptions printoptions "
    "getbufsize geterr geterrcall get_printoptions typename mintypecode bmat asmatrix frombuffer "
    "fromstring from_dlpack datetime_as_string datetime_data empty_like busday_count busday_offset "
    "is_busday isscalar iterable may_share_memory shares_memory array2string array_repr array_str "
    "format_float_positional format_float_scientific binary_repr base_repr isfortran isdtype "
    "issubdtype promote_types can_cast min_scalar_type nested_iters "
)
NOT_EQUATIONS = set(_NOT_EQUATIONS.split())


def namespace() -> dict[str, Callable[..., Any]]:
    found = {}
    for prefix, module in (("np.", np), ("np.linalg.", np.linalg), ("np.fft.", np.fft)):
        for name in dir(module):
            function = getattr(module, name)
            if name.startswith("_") or isinstance(function, type) or not callable(function):
                continue
            if name not in NOT_EQUATIONS:
                found[prefix + name] = function
    return found


CALLS: dict[str, Callable[..., Any]] = {
    "f(u)": lambda f: lambda u, v, a, b: f(u),
    "f(unit)": lambda f: lambda u, v, a, b: f(0.25 * u),
    "f(a)": lambda f: lambda u, v, a, b: f(a),
    "f(u, v)": lambda f: lambda u, v, a, b: f(u, v),
    "f(a, b)": lambda f: lambda u, v, a, b: f(a, b),
    "f(a, u)": lambda f: lambda u, v, a, b: f(a, u[:3]),
    "f(u, 2)": lambda f: lambda u, v, a, b: f(u, 2),
    "f(u, -0.7)": lambda f: lambda u, v, a, b: f(u, -0.7),
    "f(2.5, u)": lambda f: lambda u, v, a, b: f(2.5, u),
    "f(a, 1)": lambda f: lambda u, v, a, b: f(a, 1),
    "f(a, axis=0)": lambda f: lambda u, v, a, b: f(a, axis=0),
    "f(a, axis=1)": lambda f: lambda u, v, a, b: f(a, axis=1),
    "f(a, axis=-1, keepdims)": lambda f: lambda u, v, a, b: f(a, axis=-1, keepdims=True),
    "f(a, (1, 0))": lambda f: lambda u, v, a, b: f(a, (1, 0)),
    "f(a, 0, 1)": lambda f: lambda u, v, a, b: f(a, 0, 1),
    "f(u, 1, 9.0)": lambda f: lambda u, v, a, b: f(u, 1, 9.0),
    "f(u, v, u)": lambda f: lambda u, v, a, b: f(u, v, u),
    "f([u, v])": lambda f: lambda u, v, a, b: f([u, v]),
    "f([a, b])": lambda f: lambda u, v, a, b: f([a, b]),
    "f([a, b], 1)": lambda f: lambda u, v, a, b: f([a, b], 1),
    "f([u, 1.0])": lambda f: lambda u, v, a, b: f([u[0], 1.0]),
    "f(u > 0)": lambda f: lambda u, v, a, b: f(u > 0),
    "f(u > 0, v > 0)": lambda f: lambda u, v, a, b: f(u > 0, v > 0),
    "f(u > 0, u, v)": lambda f: lambda u, v, a, b: f(u > 0, u, v),
    "f(mask, u)": lambda f: lambda u, v, a, b: f(np.array([True, False, True, False, True, True]), u),
    "f(u, mask)": lambda f: lambda u, v, a, b: f(u, [0, 2, 1]),
    "f(u[0])": lambda f: lambda u, v, a, b: f(u[4]),
    "f(u, numbers)": lambda f: lambda u, v, a, b: f(u, np.array([3.0, 1.0, -2.0, 0.5, 2.0, -0.5])),
    "f(numbers, u)": lambda f: lambda u, v, a, b: f(np.array([3.0, 1.0, -2.0, 0.5, 2.0, -0.5]), u),
}


@pytest.mark.parametrize("name", namespace())
def test_a_function_of_numpy_equals_numpy_or_is_refused_by_name(name):
    function = namespace()[name]
    for call, write in CALLS.items():
        if getattr(function, "signature", None) and call == "f(u, v, u)":
            continue  # NumPy itself reads u while it writes into it
        written = write(function)
        expected = outcome(written, U, V, A, B)
        if expected is None:
            continue
        try:
            found = on_symbols(written, U, V, A, B)
        except BlockError as error:
            # np.full_like of numbers, filled with a signal, is a copy into them for NumPy.
            named = "np.copyto" in str(error) or function.__name__ in str(error) or "was used" in str(error)
            assert named or call.startswith("f(["), (call, str(error))
            continue
        except (AttributeError, NotImplementedError, TypeError, ValueError):
            # A list of signals, which NumPy turns into an object array: the tracer names the user's line.
            assert call.startswith("f(["), call
            continue
        try:
            same(found, expected, "> 0" in call or "mask" in call)
        except AssertionError as error:
            raise AssertionError(f"{name}, {call}: {error}") from None
