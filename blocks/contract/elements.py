"""Where an array of symbols keeps its elements: one CasADi column, and numbers that say what lies where.

Indexing, views and everything else that only moves elements is done by NumPy on those whole numbers, so that
shapes, broadcasting, copies and views are NumPy's own. The arithmetic is done on whole columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Self

import casadi as ca
import numpy as np

from blocks.contract.refusals import no_symbols, no_whole_number, read_only
from blocks.errors import shown

Shape = tuple[int, ...]
_array = np.array  # while equations are traced, np.array itself takes symbols


def taken(sx: ca.SX, places: Any) -> ca.SX:
    """Column of the elements of a column at these places."""
    listed = np.ravel(places).tolist()
    if sx.numel() == 1:  # CasADi would give a row
        return sx if len(listed) == 1 else ca.repmat(sx, len(listed), 1)
    return sx[listed] if listed else ca.SX(0, 1)


class SharedElements:
    """The elements that an array and its views share."""

    __slots__ = ("sx",)

    def __init__(self, sx: ca.SX) -> None:
        self.sx = sx


class Elements:
    """A NumPy-like array of symbols, without its arithmetic.

    Parameters
    ----------
    sx : (n, 1) dense SX        the elements, row-major
    shape : tuple of int        their arrangement
    boolean : bool              is it an array of conditions (NumPy's dtype bool)?
    writeable : bool            may elements be replaced in place?
    """

    __slots__ = ("__weakref__", "_places", "_shape", "_shared", "boolean", "writeable")

    def __init__(self, sx: ca.SX, shape: Shape, boolean: bool = False, writeable: bool = True) -> None:
        self._shared, self._shape = SharedElements(sx), shape
        self._places: np.ndarray | None = None  # None: element k of the column is element k
        self.boolean, self.writeable = boolean, writeable

    # --- shape --------------------------------------------------------------------------------------------
    @property
    def shape(self) -> Shape:
        """Sizes along the axes."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        n = 1
        for m in self._shape:
            n *= m
        return n

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of unsized object")
        return self._shape[0]

    # --- elements -----------------------------------------------------------------------------------------
    @property
    def places(self) -> np.ndarray:
        """Which element of the shared column stands where, as an int array of this shape."""
        if self._places is not None:
            return self._places
        places = np.arange(self.size).reshape(self._shape)
        if not self.writeable:
            places.flags.writeable = False
        return places

    def column(self) -> ca.SX:
        """(n, 1) dense SX of all elements, row-major."""
        sx = self._shared.sx
        return sx if self._places is None else taken(sx, self._places)

    def spread(self, shape: Shape) -> ca.SX:
        """The column broadcast to a shape; one element stays a scalar."""
        if self._shape == shape or self.size == 1:
            return self.column()
        return taken(self._shared.sx, np.broadcast_to(self.places, shape))

    def at(self, places: np.ndarray) -> ca.SX:
        """Column of the elements at these places."""
        return taken(self._shared.sx, places)

    def moved(self, places: Any, source: np.ndarray) -> Self:
        """The array with elements at `places`, a view where NumPy made `places` a view of `source`."""
        cls = type(self)
        if not isinstance(places, np.ndarray):
            return cls(self._shared.sx[int(places)], (), self.boolean)
        if not np.may_share_memory(places, source):
            return cls(self.at(places), places.shape, self.boolean)
        view = cls.__new__(cls)
        view._shared, view._shape, view._places = self._shared, places.shape, places
        view.boolean, view.writeable = self.boolean, self.writeable and places.flags.writeable
        return view

    def __getitem__(self, key: Any) -> Self:
        if type(key) is int and self._places is None and len(self._shape) == 1:
            n = self._shape[0]
            if not -n <= key < n:
                raise IndexError(f"index {key} is out of bounds for axis 0 with size {n}")
            return type(self)(self._shared.sx[key], (), self.boolean)
        _check_key(key)
        source = self.places
        return self.moved(source[key], source)

    def __setitem__(self, key: Any, value: Any) -> None:
        _check_key(key)
        if not self.writeable:
            raise read_only()
        target = np.asarray(self.places[key])
        given = self.operand(value)
        if self.boolean and not given.boolean:
            given = type(self)(ca.ne(given.column(), 0.0), given.shape, True)
        if given.ndim > target.ndim and all(n == 1 for n in given.shape[: given.ndim - target.ndim]):
            given = type(self)(given.column(), given.shape[given.ndim - target.ndim :], given.boolean)
        new = given.spread(target.shape) if given.size == 1 else given._filled(target.shape)
        changed = ca.SX(self._shared.sx)  # others may hold the column as it is
        if target.size:
            changed[target.ravel().tolist()] = new
        self._shared.sx = changed

    def _filled(self, shape: Shape) -> ca.SX:
        if np.broadcast_shapes(self.shape, shape) != shape:
            raise ValueError(f"could not broadcast input array from shape {self.shape} into shape {shape}")
        return self.spread(shape)

    def __iter__(self) -> Iterator[Self]:
        if not self._shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(self._shape[0]))

    # --- from what was written ----------------------------------------------------------------------------
    @classmethod
    def operand(cls, value: Any) -> Self:
        """What stands beside a signal in a formula, as an array of symbols: numbers, arrays, lists, SX."""
        if isinstance(value, cls):
            return value
        if isinstance(value, (bool, np.bool_)):
            return cls(ca.SX(float(value)), (), True)
        if isinstance(value, (int, float, np.number, Fraction)) and not isinstance(value, np.timedelta64):
            return cls(ca.SX(_real(value)), ())
        if isinstance(value, ca.SX):
            return cls.of(value)
        if isinstance(value, (list, tuple)) and (joined := cls._joined(value)) is not None:
            return joined
        if isinstance(value, (np.matrix, np.ma.MaskedArray)):
            raise no_symbols(f"{type(value).__name__} of NumPy", "beside it: its own rules would be lost")
        array = (
            value
            if isinstance(value, np.ndarray)
            else _array(value, dtype=object if _nested(value) else None)
        )
        if array.dtype == object:
            return cls._of_objects(array)
        if array.dtype.kind not in "biufc":  # NumPy would read the number of a text, and days since 1970
            raise TypeError(f"{shown(value)} beside signals: signals and numbers only")
        numbers = np.ravel(_real(array))
        return cls(ca.SX(ca.DM(numbers)), array.shape, array.dtype == bool)

    @classmethod
    def of(cls, symbols: ca.SX) -> Self:
        """CasADi symbols: one as a scalar, a column as a vector, else a matrix."""
        dense = ca.densify(symbols)
        if dense.numel() == 1:
            return cls(dense, ())
        if dense.is_column():
            return cls(dense, (int(dense.shape[0]),))
        return cls(ca.vec(dense.T), (int(dense.shape[0]), int(dense.shape[1])))

    @classmethod
    def _joined(cls, parts: Any) -> Self | None:
        """Signals and numbers of one shape along a new first axis; None where it is anything else."""
        if not parts or not all(isinstance(p, (Elements, int, float, np.number, np.bool_)) for p in parts):
            return None
        made = [cls.operand(p) for p in parts]
        if any(p.shape != made[0].shape for p in made):
            raise ValueError(f"arrays of shapes {', '.join(str(p.shape) for p in made)} make no array")
        column = ca.vertcat(*[p.column() for p in made])
        return cls(column, (len(made), *made[0].shape), all(p.boolean for p in made))

    @classmethod
    def _of_objects(cls, array: np.ndarray) -> Self:
        leaves = []
        for leaf in array.ravel().tolist():
            if not isinstance(leaf, (Elements, ca.SX, bool, int, float, np.number, np.bool_)):
                raise TypeError(f"{leaf!r} beside signals: rows of one length, signals and numbers only")
            leaves.append(cls.operand(leaf))
        if any(leaf.size != 1 for leaf in leaves):
            raise ValueError("rows of an array of signals differ in length")
        column = ca.vertcat(ca.SX(0, 1), *[leaf.column() for leaf in leaves])
        return cls(column, array.shape, bool(leaves) and all(leaf.boolean for leaf in leaves))

    def objects(self) -> np.ndarray:
        """The same as a plain object array of scalars, for NumPy's own Python functions."""
        found = np.empty(self.size, dtype=object)
        column, cls = self.column(), type(self)
        for k in range(self.size):
            found[k] = cls(column[k], (), self.boolean)
        return found.reshape(self.shape)


def _real(value: Any) -> Any:
    if np.iscomplexobj(value):
        raise ValueError("complex numbers beside signals; signals are real")
    return value.astype(float) if isinstance(value, np.ndarray) else float(value)


def _nested(value: Any) -> bool:
    """Is there a signal somewhere in lists of lists?"""
    if isinstance(value, (list, tuple)):
        return any(_nested(part) for part in value)
    return isinstance(value, (Elements, ca.SX)) or (isinstance(value, np.ndarray) and value.dtype == object)


PLAIN_NUMBERS = frozenset((float, int, bool))


def has_symbols(value: Any) -> bool:
    """Does an argument hold signals, also in lists or in an object array?"""
    if type(value) in PLAIN_NUMBERS:  # asked for every argument of every function of ``math``
        return False
    if isinstance(value, (Elements, ca.SX)):
        return True
    if isinstance(value, (list, tuple)):
        return not set(map(type, value)) <= PLAIN_NUMBERS and any(has_symbols(part) for part in value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return any(isinstance(part, (Elements, ca.SX)) for part in value.flat)
    return False


def _check_key(key: Any) -> None:
    for part in key if isinstance(key, tuple) else (key,):
        if has_symbols(part):
            if isinstance(part, Elements) and part.boolean:
                raise no_symbols("np.extract", ", as in u[condition]")
            raise no_whole_number()
