"""The thread of a watched run: it plays, paced by the clock, and carries out commands in between."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

import numpy as np

from blocks.arguments import is_number
from blocks.errors import PlantloopError, near_miss
from cosim.viewer.server.watched_run import WatchedRun

WAITING = 1000  # most commands that may wait
LATE = 0.25  # s of wall time it may be late before it gives up catching up
PACES = (1e-4, 1e6)


class Player:
    """Plays a run; every method may be called from any thread.

    Parameters
    ----------
    run : WatchedRun        nobody else calls it while the player lives
    saved : callable        run -> text about where it was saved

    What others read (`table`, `rows`, `state`) is replaced, never changed: a reader has one whole picture.
    """

    def __init__(self, run: WatchedRun, saved: Callable[[WatchedRun], str]) -> None:
        self._run, self._saved = run, saved
        self._commands: queue.Queue[tuple[dict[str, Any], Future[str]]] = queue.Queue(WAITING)
        self._listeners: set[Callable[[], None]] = set()
        self._lock = threading.Lock()
        self.playing, self.pace, self.factor = False, 1.0, 0.0
        self._start = (0.0, 0.0)  # wall and simulated time from which it is paced
        self._closing = False
        self.cuts: list[int] = []  # rows that were left each time it went back
        self.table, self.rows = run.table, run.rows
        self.state: dict[str, Any] = {}
        self._pushed: set[str] = set()
        self.sliders = run.sliders()
        self._tell()
        self._thread = threading.Thread(target=self._live, name="watched run", daemon=True)
        self._thread.start()

    # --- from outside -----------------------------------------------------------------------------
    def do(self, message: Mapping[str, Any]) -> Future[str]:
        """Queue a command; the future gets its answer, or the error.

        Raises
        ------
        PlantloopError      too much is waiting
        """
        answer: Future[str] = Future()
        try:
            self._commands.put_nowait((dict(message), answer))
        except queue.Full:
            raise PlantloopError(f"{WAITING} commands are waiting; send less often.") from None
        return answer

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function in the thread of the run at every change; returns a function that ends this."""
        with self._lock:
            self._listeners.add(listener)

        def leave() -> None:
            with self._lock:
                self._listeners.discard(listener)

        return leave

    def close(self) -> None:
        """End the thread; the run stays at its present time."""
        self._closing = True
        if threading.current_thread() is not self._thread:
            self._thread.join(60.0)

    # --- the thread -------------------------------------------------------------------------------
    def _live(self) -> None:
        while not self._closing:
            wait = self._wait()
            try:
                message, answer = (
                    self._commands.get(timeout=max(wait, 1e-4)) if wait else self._commands.get_nowait()
                )
            except queue.Empty:
                if self.playing and self._wait() == 0.0:
                    self._play()
                continue
            if not answer.set_running_or_notify_cancel():
                continue  # whoever sent it has left
            try:
                answer.set_result(self._done(message))
            except PlantloopError as error:
                answer.set_exception(error)
            except Exception as error:  # a command must never end the run
                answer.set_exception(PlantloopError(f"{type(error).__name__}: {error}"))
            self._tell()

    def _wait(self) -> float:
        """Wall time [s] until the next stop is due."""
        if not self.playing:
            return 0.2
        wall, simulated = self._start
        due = wall + (self._run.next_time - simulated) / self.pace
        return min(0.2, max(0.0, due - time.perf_counter()))

    def _play(self) -> None:
        began, t = time.perf_counter(), self._run.time
        self._run.forward()
        now = time.perf_counter()
        wall, simulated = self._start
        behind = now - (wall + (self._run.time - simulated) / self.pace)
        if behind > LATE:
            self._start = (now, self._run.time)
        span = max(now - began, (self._run.time - t) / self.pace)
        self.factor += 0.1 * ((self._run.time - t) / span - self.factor)
        if self._run.ended:
            self.playing = False
        self._tell()

    def _tell(self) -> None:
        run = self._run
        self.table, self.rows = run.table, run.rows
        self.state = {
            "time": run.time,
            "playing": self.playing,
            "pace": self.pace,
            "factor": round(self.factor, 3),
            "ended": run.ended,
            "until": run.until,
            "changes": len(run.recording.changes),
        }
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener()

    # --- commands ---------------------------------------------------------------------------------
    def _done(self, message: dict[str, Any]) -> str:
        what = message.get("do")
        deeds: dict[str, Callable[[dict[str, Any]], str | None]] = {
            "play": self._do_play, "pause": self._do_pause, "step": self._do_step, "back": self._do_back,
            "reset": self._do_reset, "pace": self._do_pace, "set": self._do_set, "push": self._do_push,
            "release": self._do_release, "save": lambda _: self._saved(self._run),
        }  # fmt: skip
        if not isinstance(what, str) or what not in deeds:
            raise PlantloopError(f"no command {what!r}; {near_miss(str(what), deeds)}", value=what)
        return deeds[what](message) or ""

    def _do_play(self, message: dict[str, Any]) -> None:
        if self._run.ended:
            raise PlantloopError(f"the run is over: {self._run.ended}.", hint="Step back, or reset it.")
        self.playing, self._start = True, (time.perf_counter(), self._run.time)

    def _do_pause(self, message: dict[str, Any]) -> None:
        self.playing = False

    def _do_step(self, message: dict[str, Any]) -> None:
        self.playing = False
        self._run.step()

    def _do_back(self, message: dict[str, Any]) -> None:
        to = None if message.get("to") is None else _number(message["to"], "to")
        self.playing = False
        self._run.back(to)
        self._went_back()

    def _do_reset(self, message: dict[str, Any]) -> None:
        self.playing = False
        self._run.reset()
        self._went_back()

    def _do_pace(self, message: dict[str, Any]) -> None:
        pace = _number(message.get("value"), "value")
        if not PACES[0] <= pace <= PACES[1]:
            raise PlantloopError(f"the pace is {pace:g}, expected {PACES[0]:g} to {PACES[1]:g}.", value=pace)
        self.pace, self._start = pace, (time.perf_counter(), self._run.time)

    def _do_set(self, message: dict[str, Any]) -> None:
        name = message.get("name")
        if name not in (known := [s.name for s in self.sliders]):
            raise PlantloopError(f"nothing to change is called {name!r}; {near_miss(str(name), known)}")
        self._run.change(name, _numbers(message.get("value")))
        self._refresh()

    def _do_push(self, message: dict[str, Any]) -> None:
        found = [
            p for p in self._run.opened.pushes
            if p.plant == message.get("plant") and p.link == message.get("link")
        ]  # fmt: skip
        if not found:
            raise PlantloopError(f"no body {message.get('link')!r} of '{message.get('plant')}' to push.")
        force, point = (_numbers(message.get(key)) for key in ("force", "point"))
        if force.shape != (3,) or point.shape != (3,):
            raise PlantloopError("a push has a force and a point of three numbers each.")
        self._run.change(found[0].parameter, np.concatenate([force, point]))
        self._pushed.add(found[0].parameter)

    def _do_release(self, message: dict[str, Any]) -> None:
        for name in sorted(self._pushed):
            self._run.change(name, np.zeros(6))
        self._pushed.clear()

    def _went_back(self) -> None:
        self.cuts = [*self.cuts, self._run.rows]
        self._do_release({})
        self._refresh()

    def _refresh(self) -> None:
        self.sliders = self._run.sliders()


def _number(value: Any, name: str) -> float:
    if not is_number(value) or not math.isfinite(value):
        raise PlantloopError(f"{name} is {value!r}, expected a finite number.", value=value)
    return float(value)


def _numbers(value: Any) -> np.ndarray:
    """Finite numbers from a client; null stands for a structural number, which is kept."""
    try:
        found = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise PlantloopError(f"got {str(value)[:60]}, expected numbers.") from None
    if found.size > 100_000 or np.isinf(found).any():
        raise PlantloopError("expected finite numbers.")
    return found
