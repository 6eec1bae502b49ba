"""Distributions of parameters: those of scipy.stats by name, some by simpler names; truncated if wanted.

Those of whole numbers ("poisson", "randint") take the numbers scipy.stats gives them, low and high included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.errors import PlantloopError, near_miss

PLAIN: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    # name -> the numbers it needs, the frozen distribution of scipy.stats
    "normal": (("mean", "std"), lambda s, mean, std: s.norm(mean, std)),
    "lognormal": (("mean", "std"), lambda s, mean, std: _lognormal(s, mean, std)),
    "triangular": (("low", "mode", "high"), lambda s, low, mode, high: _triangular(s, low, mode, high)),
    "uniform": (("low", "high"), lambda s, low, high: s.uniform(low, high - low)),
    "loguniform": (("low", "high"), lambda s, low, high: s.loguniform(low, high)),
    "randint": (("low", "high"), lambda s, low, high, loc=0.0: s.randint(low, high, loc)),  # below high
}
OTHER_NUMBERS = {"uniform": ("loc", "scale"), "loguniform": ("a", "b")}  # the names scipy.stats has for them
LOGARITHMIC = ("loguniform", "reciprocal")  # names of the one whose logarithm is uniform
BOUNDED = ("triangular", "uniform", "loguniform", "randint")  # low and high are their own


def _lognormal(stats: Any, mean: float, std: float) -> Any:
    """The lognormal distribution that itself has this mean and standard deviation."""
    sigma = math.sqrt(math.log1p((std / mean) ** 2))
    return stats.lognorm(sigma, scale=mean / math.sqrt(1 + (std / mean) ** 2))


def _triangular(stats: Any, low: float, mode: float, high: float) -> Any:
    return stats.triang((mode - low) / (high - low), low, high - low)


@dataclass(frozen=True)
class Distribution:
    """A distribution of scipy.stats, cut off below `low` and above `high`.

    spec : as written: name under "distribution", numbers by their names
    whole : what its values are whole numbers from, its `loc`; None where they are any numbers
    ends : of its own, as written where they are: scipy.stats has low + (high - low) for high
    """

    spec: Mapping[str, Any]
    frozen: Any
    low: float
    high: float
    whole: float | None = None
    ends: tuple[float, float] = (-math.inf, math.inf)

    def quantile(self, u: np.ndarray) -> np.ndarray:
        """Quantiles at these probabilities, 0 < u < 1."""
        if math.isinf(self.low) and math.isinf(self.high):
            return np.clip(np.asarray(self.frozen.ppf(u), dtype=float), *self.ends)
        above, a, b = self._shares()
        inverse = self.frozen.isf if above else self.frozen.ppf
        return np.clip(np.asarray(inverse(a + u * (b - a)), dtype=float), self.low, self.high)

    def _shares(self) -> tuple[bool, float, float]:
        """Is `low` above the median? Probabilities of a value below `low`, and of one up to `high`.

        If it is, those of a value from `low` on, and of one above `high`: those below are near 1, where a
        double tells few of them apart.
        """
        below = self.low if self.whole is None else self.low - 1.0
        above = bool(self.frozen.cdf(below) > 0.5)
        share = self.frozen.sf if above else self.frozen.cdf
        return above, float(share(below)), float(share(self.high))

    def nearest(self, values: np.ndarray) -> np.ndarray:
        """The possible values nearest to some values between the bounds."""
        return values if self.whole is None else np.round(values - self.whole) + self.whole

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds or the ends of the support; for an infinite end the quantile of 0.1 % or 99.9 %."""
        low, high = self.frozen.support() if math.isinf(self.ends[0]) else self.ends
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

    numbers = _checked_numbers(spec)
    name = _checked_name(spec, numbers, stats)
    cut: dict[str, float] = {key: float(numbers[key]) for key in ("low", "high") if key in numbers}
    if len(cut) == 2 and not cut["low"] < cut["high"]:
        raise PlantloopError(f"low is {cut['low']:g} and high {cut['high']:g}, expected low below high.")
    plain = name in PLAIN and not set(OTHER_NUMBERS.get(name, ())) & set(numbers)
    needed, allowed, make = _plain(name) if plain else _of_scipy(name, stats)
    _refuse_misfits(name, numbers, needed, allowed)
    if plain:
        _check(name, numbers)
    elif not numbers.get("scale", 1.0) > 0:
        raise PlantloopError(f"scale is {numbers['scale']:g}, expected a number above 0.")
    ends = (-math.inf, math.inf)
    if plain and name in BOUNDED:
        ends, cut = ends if name == "randint" else (cut["low"], cut["high"]), {}
    own = {key: value for key, value in numbers.items() if key in needed or key in ("loc", "scale")}
    whole = own.get("loc", 0.0) if isinstance(getattr(stats, name, None), stats.rv_discrete) else None
    low, high = cut.get("low", -math.inf), cut.get("high", math.inf)
    if whole is not None:  # the whole numbers in between
        low, high = float(np.ceil(low - whole) + whole), float(np.floor(high - whole) + whole)
    found = Distribution(dict(spec), make(stats, **own), low, high, whole, ends)
    _refuse_empty(name, found, own, cut)
    return found


def _checked_numbers(spec: Mapping[str, Any]) -> dict[str, float]:
    """The numbers in a table of a distribution, all finite."""
    numbers = {name: value for name, value in spec.items() if name != "distribution"}
    for key, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
            raise PlantloopError(f"{key} is {number!r}, expected a finite number.", value=number)
    return numbers


def _checked_name(spec: Mapping[str, Any], numbers: Mapping[str, float], stats: Any) -> str:
    """The name of the distribution: one of ours or of scipy.stats."""
    name = spec.get("distribution", "uniform" if set(numbers) == {"low", "high"} else None)
    if name is None:
        raise PlantloopError(
            "key 'distribution' is missing.", hint='Write distribution = "normal", or only low and high.'
        )
    kinds = (stats.rv_continuous, stats.rv_discrete)
    known = [n for n in dir(stats) if isinstance(getattr(stats, n), kinds)]
    if not isinstance(name, str) or (name not in PLAIN and name not in known):
        raise PlantloopError(f"no distribution {name!r}; {near_miss(name, [*PLAIN, *known])}", value=name)
    return name


def _refuse_misfits(
    name: str, numbers: Mapping[str, float], needed: Sequence[str], allowed: Sequence[str]
) -> None:
    """Refuse numbers that the distribution does not have, and a missing number that it needs."""
    for key in numbers:
        if key not in allowed:
            raise PlantloopError(
                f"distribution '{name}' has no '{key}'; {near_miss(key, dict.fromkeys(allowed))}"
            )
    for key in needed:
        if key not in numbers:
            raise PlantloopError(f"distribution '{name}' needs {' and '.join(needed)}; '{key}' is missing.")


def _refuse_empty(name: str, found: Distribution, own: Mapping[str, float], cut: Mapping[str, float]) -> None:
    """Refuse numbers that define no distribution, and bounds between which it has no values."""
    with np.errstate(all="ignore"):
        _, below, upto = found._shares()
        middle = found.quantile(np.array([0.001, 0.999]))
    if np.isnan(upto):
        shown = " and ".join(f"{key} = {value:g}" for key, value in own.items())
        raise PlantloopError(f"there is no distribution '{name}' with {shown}.")
    if upto == below or not np.isfinite(middle).all():
        ends = " and ".join(f"{key} = {value:g}" for key, value in cut.items())
        between = f"no values {'between' if len(cut) == 2 else 'within'} {ends}"
        raise PlantloopError(f"distribution '{name}' has {between}.")


# numbers needed, all numbers allowed, the function that makes it
Recipe = tuple[tuple[str, ...], list[str], Callable[..., Any]]


def _plain(name: str) -> Recipe:
    needed, make = PLAIN[name]
    return needed, [*needed, "low", "high", *(["loc"] if name == "randint" else [])], make


def _of_scipy(name: str, stats: Any) -> Recipe:
    one = getattr(stats, name)
    needed = tuple(one.shapes.replace(" ", "").split(",")) if one.shapes else ()
    scales = isinstance(one, stats.rv_continuous)  # those of whole numbers have no scale

    def make(_: Any, **numbers: float) -> Any:
        return one(**numbers)

    return needed, [*needed, "loc", *(["scale"] if scales else []), "low", "high"], make


def _check(name: str, numbers: Mapping[str, float]) -> None:
    if "std" in numbers and not numbers["std"] > 0:
        raise PlantloopError(f"std is {numbers['std']:g}, expected a number above 0.", value=numbers["std"])
    if name in ("lognormal", "loguniform"):
        first = "mean" if name == "lognormal" else "low"
        if not numbers[first] > 0:
            raise PlantloopError(f"{first} of '{name}' is {numbers[first]:g}, expected a number above 0.")
    if name == "triangular" and not numbers["low"] <= numbers["mode"] <= numbers["high"]:
        raise PlantloopError(f"mode is {numbers['mode']:g}, expected a number between low and high.")
