"""The structures of runtime/plantloop.h as ctypes, field by field, and the runtime's functions."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_double, c_int32, c_int64, c_longlong, c_size_t, c_uint64, c_void_p
from typing import Any

import numpy as np

from cosim.engines.methods.rosenbrock import Rosenbrock
from cosim.engines.methods.tableau import TABLEAUS, Tableau

ABI = 4
STAGES = 8
RODAS_STAGES = 6

OUTPUT, UPDATE, EXTERNAL, SOLVE = range(4)  # kinds of segments
DONE, FULL, FULL_TICKS, PAUSE, CALL, CANCELLED, NOT_FINITE, COLLAPSED, CHATTERING, CONFLICT = range(10)
NO_SIGN, NO_SOLUTION, FULL_HISTORY, NO_DELAY, FULL_EVENTS = range(10, 15)
IN_STEP, AT_STATE, IN_RESET = -1, -2, -3  # places of PL_NOT_FINITE that are no segments


class Arguments(Structure):
    """pl_args."""

    _fields_ = [
        ("t", c_double),
        *[(n, c_void_p) for n in ("x", "h", "w", "p", "c", "v", "iv", "update_w", "owner")],
    ]


class Row(Structure):
    """pl_row."""

    _fields_ = [("count", c_int32), ("place", c_int32 * STAGES), ("weight", c_double * STAGES)]

    @staticmethod
    def of(weights: tuple[float, ...]) -> Row:
        """A row of a tableau without its zeros."""
        row = Row()
        for j, weight in enumerate(weights):
            if weight != 0.0:
                row.place[row.count], row.weight[row.count] = j, weight
                row.count += 1
        return row


class Method(Structure):
    """pl_method."""

    _fields_ = [
        *[(n, c_int32) for n in ("number", "stages", "order", "adaptive")], ("error", Row), ("dense", Row),
    ]  # fmt: skip

    @staticmethod
    def stiff() -> Method:
        """What of RODAS is a matter of every method: the error is its last stage."""
        weights = (*[0.0] * (RODAS_STAGES - 1), 1.0)
        return Method(-1, RODAS_STAGES, 4, 1, Row.of(weights), Row())

    @staticmethod
    def of(tableau: Tableau) -> Method:
        """A tableau of tableau.py; its number is its place there."""
        number = list(TABLEAUS).index(tableau.name)
        error, dense = Row.of(tableau.error), Row.of(tableau.dense)
        return Method(number, tableau.stages, tableau.order, tableau.adaptive, error, dense)


MODEL_FUNCTIONS = (
    "prepare", "derivative", "steps", "accepted", "crossings", "crossing_rates", "resets", "invariants",
    "correction", "residual", "starting", "delayed", "seconds", "segments",
)  # fmt: skip


class Model(Structure):
    """pl_model."""

    _fields_ = [
        ("abi", c_int32), *[(n, c_int32) for n in ("nx", "nh", "nw", "np", "nc", "ny")],
        ("nv", c_int64), ("niv", c_int64),
        *[(n, c_void_p) for n in MODEL_FUNCTIONS],
        ("n_segments", c_int32), ("signals", c_void_p), ("n_pieces", c_int32),
    ]  # fmt: skip


TABLES = (
    "first", "period", "time_place", "count_place", "fresh_place", "discrete_start", "discrete",
    "segment_kind", "segment_rate", "segment_start", "segment_writes", "segment_size", "instant_time",
    "instant_list", "instant_place", "accepted", "nominal", "tolerance", "starting", "direction",
    "threshold", "rest", "ends", "reset_start", "reset_places", "renewed_start", "renewed", "draw_stream",
    "draw_rate", "draw_normal", "draw_start", "draw_places", "delay_start", "delay_places", "delay_initial",
)  # fmt: skip


COUNTED = (
    "rates",
    "segments",
    "instants",
    "lists",
    "accepted",
    "invariants",
    "events",
    "draws",
    "starting",
    "unknowns",
    "delays",
)


class Tables(Structure):
    """pl_system."""

    _fields_ = [
        ("grid", c_int64),
        *[(f"n_{n}", c_int32) for n in COUNTED],
        *[(n, c_void_p) for n in TABLES],
    ]


class Settings(Structure):
    """pl_settings."""

    _fields_ = [
        ("method", Method),
        *[(n, c_double) for n in ("step", "rtol", "atol", "max_step", "longest_unwatched")],
        ("seed", c_uint64),
        ("in_time", c_int32),
    ]


class Past(Structure):
    """pl_history."""

    _fields_ = [
        *[(n, c_void_p) for n in ("starts", "ends", "values")], ("count", c_int64), ("capacity", c_int64),
    ]  # fmt: skip


class State(Structure):
    """pl_context."""

    _fields_ = [
        *[(n, c_double) for n in ("t", "step", "error")],
        *[(n, c_void_p) for n in ("x", "h", "w", "p", "next", "signs", "solution", "ticks", "instants")],
        ("started", c_int32),
        ("stopped", c_int32),
        ("histories", POINTER(Past)),
        ("stops", c_void_p),
        ("n_stops", c_int64),
        ("stops_capacity", c_int64),
    ]


class Buffer(Structure):
    """pl_buffer."""

    _fields_ = [
        ("rows", c_void_p), ("count", c_int64), ("capacity", c_int64), ("width", c_int32),
        ("places", c_void_p), ("n_pieces", c_int32), ("pieces", c_void_p),
    ]  # fmt: skip


class EventLog(Structure):
    """pl_event_log."""

    _fields_ = [("values", c_void_p), ("used", c_int64), ("capacity", c_int64)]


class LogState(Structure):
    """pl_log."""

    _fields_ = [
        ("every_step", c_int32), ("times", c_void_p), ("n_times", c_int64), ("position", c_int64),
        ("log", Buffer), ("ticks", POINTER(Buffer)), ("events", EventLog),
    ]  # fmt: skip


class Counts(Structure):
    """pl_counters."""

    _fields_ = [
        *[(n, c_int64) for n in ("steps", "rejected", "evaluations", "events")], ("limited_by", c_void_p),
    ]  # fmt: skip


STIFF_TABLES = (
    "column_start", "rows", "colour_start", "colour_columns", "order", "lu_start", "lu_column", "lu_diagonal",
    "lu_place",
)  # fmt: skip


class JacobianCode(Structure):
    """pl_jacobian."""

    _fields_ = [
        *[(n, c_int32) for n in ("abi", "nx", "np", "nc")], ("nv", c_int64), ("niv", c_int64),
        ("prepare", c_void_p), ("values", c_void_p),
    ]  # fmt: skip


_STAGE = c_double * RODAS_STAGES


class Stiff(Structure):
    """pl_stiff."""

    _fields_ = [
        ("code", c_void_p), ("gamma", c_double), ("alpha", _STAGE), ("d", _STAGE),
        ("a", _STAGE * RODAS_STAGES), ("stages", _STAGE * RODAS_STAGES), ("dense_weights", _STAGE * 2),
        *[(n, c_int32) for n in ("n_colours", "sparse", "pivoted")],
        *[(n, c_void_p) for n in STIFF_TABLES],
        *[(n, c_void_p) for n in ("c", "v", "iv", "seed", "jacobian", "slope", "work", "factors", "dense")],
        ("pivots", c_void_p),
    ]  # fmt: skip

    def take(self, method: Rosenbrock) -> None:
        """The coefficients of a method."""
        self.gamma, self.alpha, self.d = method.gamma, _STAGE(*method.alpha), _STAGE(*method.d)
        for i, (a, c) in enumerate(zip(method.a, method.c, strict=True)):
            self.a[i], self.stages[i] = _STAGE(*a), _STAGE(*c)
        for i, weights in enumerate(method.dense):
            self.dense_weights[i] = _STAGE(*weights)


# a function of the host: (host, number, address of arguments and results) -> 0, or not 0 if it failed
HOST_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, c_void_p, c_int32, c_void_p)

PRIVATE = (
    "x0", "x1", "integrated1", "unprojected", "k", "trial", "f1", "y", "prepared", "c", "scratch",
    "new_signs", "newton",
)  # fmt: skip


class Run(Structure):
    """pl_run."""

    _fields_ = [
        ("model", c_void_p), ("system", POINTER(Tables)), ("settings", POINTER(Settings)),
        ("context", POINTER(State)), ("log", POINTER(LogState)), ("stiff", POINTER(Stiff)),
        ("counters", Counts),
        ("budget", c_int64), *[(n, c_int32) for n in ("cancel", "index", "other")],
        *[(n, c_double) for n in ("value", "last_good", "unsolved_time")],
        *[(n, c_int32) for n in ("unsolved", "unsolved_segment", "n_fired")], ("fired", POINTER(c_int32)),
        ("out", POINTER(c_double)), ("host_function", HOST_FUNCTION), ("host", c_void_p),
        *[(n, c_int32) for n in ("phase", "segment", "arrived")],
        *[(n, c_double) for n in ("until", "stop", "begin", "h", "t0", "t1")],
        ("n", c_int64), ("i", c_int64), ("end", c_double),
        *[(n, c_int32) for n in ("located", "corrected", "end_known")],
        *[(n, c_void_p) for n in PRIVATE], ("due", c_void_p), ("iv", POINTER(c_longlong)),
        ("horizon", c_double), ("shortest_delay", c_double),
        *[(n, c_void_p) for n in ("delay_seconds", "delay_samples", "refined")],
        ("round", c_int32), ("n_at_once", c_int32), ("at_once_since", c_double), ("resets", c_void_p),
        ("reset_by", c_void_p), ("a", Arguments),
    ]  # fmt: skip


class Batch(Structure):
    """pl_batch."""

    _fields_ = [
        ("until", c_double),
        *[(n, c_void_p) for n in ("x", "h", "w", "p", "seed", "rows", "logged", "reason")],
    ]  # fmt: skip


def address(array: np.ndarray) -> int:
    """Where the numbers of an array lie."""
    return int(array.__array_interface__["data"][0])


def declare(library: Any) -> Any:
    """Give the functions of the runtime their types; returns the library.

    Raises
    ------
    OSError      it is not the runtime this file declares
    """
    library.pl_size_of_run.restype = c_size_t
    if library.pl_abi() != ABI or library.pl_size_of_run() != ctypes.sizeof(Run):
        raise OSError("the compiled runtime does not fit this version")
    run = POINTER(Run)
    library.pl_workspace_size.restype, library.pl_workspace_size.argtypes = (
        c_size_t,
        [c_void_p, POINTER(Tables)],
    )
    library.pl_instantiate.restype, library.pl_instantiate.argtypes = None, [run, c_void_p]
    library.pl_advance.restype, library.pl_advance.argtypes = ctypes.c_int, [run, c_double]
    library.pl_reset.restype, library.pl_reset.argtypes = None, [run]
    library.pl_run_batch.restype = c_int64
    library.pl_run_batch.argtypes = [run, POINTER(Batch), c_int64, c_int64, ctypes.c_int]
    library.pl_seconds.restype, library.pl_seconds.argtypes = c_double, [c_int64, c_int64]
    library.pl_next_stop.restype, library.pl_next_stop.argtypes = c_double, [run]
    library.pl_evaluate_signals.restype, library.pl_evaluate_signals.argtypes = (
        None,
        [run, POINTER(Buffer), c_void_p],
    )
    return library
