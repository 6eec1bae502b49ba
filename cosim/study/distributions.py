"""Distributions of parameters: those of scipy.stats by name, some by plainer words; truncated if wanted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.errors import PlantloopError, near_miss

PLAIN: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    # name: what it needs, the frozen distribution of scipy.stats
    "normal": (("mean", "std"), lambda s, mean, std: s.norm(mean, std)),
    "lognormal": (("mean", "std"), lambda s, mean, std: _lognormal(s, mean, std)),
    "triangular": (("low", "mode", "high"), lambda s, low, mode, high: _triangular(s, low, mode, high)),
    "uniform": (("low", "high"), lambda s, low, high: s.uniform(low, high - low)),
    "loguniform": (("low", "high"), lambda s, low, high: s.loguniform(low, high)),
}
LOGARITHMIC = ("loguniform", "reciprocal")  # names of the one whose logarithm is uniform
BOUNDED = ("triangular", "uniform", "loguniform")  # low and high are their own


def _lognormal(stats: Any, mean: float, std: float) -> Any:
    """The lognormal distribution whose own mean and standard deviation these are."""
    sigma = math.sqrt(math.log1p((std / mean) ** 2))
    return stats.lognorm(sigma, scale=mean / math.sqrt(1 + (std / mean) ** 2))


def _triangular(stats: Any, low: float, mode: float, high: float) -> Any:
    return stats.triang((mode - low) / (high - low), low, high - low)


@dataclass(frozen=True)
class Distribution:
    """One of scipy.stats, cut off below `low` and above `high`.

    spec : as written: name under "distribution", numbers by their names
    """

    spec: Mapping[str, Any]
    frozen: Any
    low: float
    high: float

    def quantile(self, u: np.ndarray) -> np.ndarray:
        """Values at these shares of probability, 0 < u < 1."""
        if math.isinf(self.low) and math.isinf(self.high):
            return np.asarray(self.frozen.ppf(u), dtype=float)
        a, b = self.frozen.cdf(self.low), self.frozen.cdf(self.high)
        return np.clip(np.asarray(self.frozen.ppf(a + u * (b - a)), dtype=float), self.low, self.high)

    @property
    def bounds(self) -> tuple[float, float]:
        """Where it is cut off, or has no values beyond; else its quantiles of 0.1 % and 99.9 %."""
        low, high = self.frozen.support()
        low, high = max(low, self.low), min(high, self.high)
        near = [float(v) for v in self.quantile(np.array([0.001, 0.999]))]
        return (near[0] if math.isinf(low) else float(low), near[1] if math.isinf(high) else float(high))


def distribution(spec: Mapping[str, Any]) -> Distribution:
    """Read ``{distribution = "normal", mean = 0.2, std = 0.02, low = 0.1}``; only low and high: uniform.

    Raises
    ------
    PlantloopError     no such distribution, or numbers it does not take, or that make no sense
    """
    from scipy import stats

    numbers = {name: value for name, value in spec.items() if name != "distribution"}
    for key, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
            raise PlantloopError(f"{key} is {number!r}, expected a finite number.", value=number)
    name = spec.get("distribution", "uniform" if set(numbers) == {"low", "high"} else None)
    if name is None:
        raise PlantloopError(
            "key 'distribution' is missing.", hint='Write distribution = "normal", or only low and high.'
        )
    known = [n for n in dir(stats) if isinstance(getattr(stats, n), stats.rv_continuous)]
    if not isinstance(name, str) or (name not in PLAIN and name not in known):
        raise PlantloopError(f"no distribution {name!r}; {near_miss(name, [*PLAIN, *known])}", value=name)
    cut = {key: float(numbers[key]) for key in ("low", "high") if key in numbers}
    if len(cut) == 2 and not cut["low"] < cut["high"]:
        raise PlantloopError(f"low is {cut['low']:g} and high {cut['high']:g}, expected low below high.")
    if name in PLAIN and not (name == "uniform" and {"loc", "scale"} & set(numbers)):
        needed, make = PLAIN[name]
        allowed = [*needed, "low", "high"]
    else:
        one = getattr(stats, name)
        needed = tuple(one.shapes.replace(" ", "").split(",")) if one.shapes else ()
        allowed = [*needed, "loc", "scale", "low", "high"]
        make = lambda s, **given: getattr(s, name)(**given)
    for key in numbers:
        if key not in allowed:
            raise PlantloopError(
                f"distribution '{name}' has no '{key}'; {near_miss(key, dict.fromkeys(allowed))}"
            )
    for key in needed:
        if key not in numbers:
            raise PlantloopError(f"distribution '{name}' needs {' and '.join(needed)}; '{key}' is missing.")
    _check(name, numbers)
    own = {key: value for key, value in numbers.items() if key in needed or key in ("loc", "scale")}
    frozen = make(stats, **own)
    low, high = (
        (-math.inf, math.inf) if name in BOUNDED else (cut.get("low", -math.inf), cut.get("high", math.inf))
    )
    with np.errstate(all="ignore"):
        share = frozen.cdf(high) - frozen.cdf(low)
    if not share > 0:
        raise PlantloopError(
            f"distribution '{name}' has no values between low = {low:g} and high = {high:g}, "
            "or its numbers make no sense."
        )
    return Distribution(dict(spec), frozen, low, high)


def _check(name: str, numbers: Mapping[str, float]) -> None:
    for key in ("std", "scale"):
        if key in numbers and not numbers[key] > 0:
            raise PlantloopError(f"{key} is {numbers[key]:g}, expected a number above 0.", value=numbers[key])
    if name in ("lognormal", "loguniform"):
        first = "mean" if name == "lognormal" else "low"
        if not numbers[first] > 0:
            raise PlantloopError(f"{first} of '{name}' is {numbers[first]:g}, expected a number above 0.")
    if name == "triangular" and not numbers["low"] <= numbers["mode"] <= numbers["high"]:
        raise PlantloopError(f"mode is {numbers['mode']:g}, expected a number between low and high.")
