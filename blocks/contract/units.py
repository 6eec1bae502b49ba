"""Units of signals and parameters: what a text such as "N*m" means, and how one unit becomes another.

Names are pint's. The units of every day, with prefixes and powers, are read here; pint, which takes seconds
to load, is asked for all others.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from blocks.errors import BlockError, near_miss, shown

BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad", "cycle")
"""What units are made of. An angle is a number, rad = 1; a cycle is another: 1 Hz is not 1 rad/s."""

Powers = tuple[Fraction, ...]
NONE: Powers = (Fraction(0),) * len(BASE)
SAME = 1e-9  # relative; factors this close are one

PREFIXES = {
    "": 1.0, "f": 1e-15, "p": 1e-12, "n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "m": 1e-3, "c": 1e-2,
    "d": 1e-1, "da": 1e1, "h": 1e2, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
}  # fmt: skip
WORDS = {
    "": 1.0, "pico": 1e-12, "nano": 1e-9, "micro": 1e-6, "milli": 1e-3, "centi": 1e-2, "kilo": 1e3,
    "mega": 1e6, "giga": 1e9,
}  # fmt: skip

# symbol, name, factor, powers of the base; prefixes go before both
SCALED: tuple[tuple[str, str, float, dict[str, int]], ...] = (
    ("m", "meter", 1.0, {"m": 1}), ("g", "gram", 1e-3, {"kg": 1}), ("s", "second", 1.0, {"s": 1}),
    ("A", "ampere", 1.0, {"A": 1}), ("K", "kelvin", 1.0, {"K": 1}), ("mol", "mole", 1.0, {"mol": 1}),
    ("cd", "candela", 1.0, {"cd": 1}), ("rad", "radian", 1.0, {"rad": 1}),
    ("Hz", "hertz", 1.0, {"s": -1, "cycle": 1}), ("N", "newton", 1.0, {"kg": 1, "m": 1, "s": -2}),
    ("Pa", "pascal", 1.0, {"kg": 1, "m": -1, "s": -2}), ("J", "joule", 1.0, {"kg": 1, "m": 2, "s": -2}),
    ("W", "watt", 1.0, {"kg": 1, "m": 2, "s": -3}), ("C", "coulomb", 1.0, {"A": 1, "s": 1}),
    ("V", "volt", 1.0, {"kg": 1, "m": 2, "s": -3, "A": -1}),
    ("F", "farad", 1.0, {"kg": -1, "m": -2, "s": 4, "A": 2}),
    ("ohm", "ohm", 1.0, {"kg": 1, "m": 2, "s": -3, "A": -2}),
    ("Ω", "ohm", 1.0, {"kg": 1, "m": 2, "s": -3, "A": -2}),
    ("S", "siemens", 1.0, {"kg": -1, "m": -2, "s": 3, "A": 2}),
    ("Wb", "weber", 1.0, {"kg": 1, "m": 2, "s": -2, "A": -1}),
    ("T", "tesla", 1.0, {"kg": 1, "s": -2, "A": -1}),
    ("H", "henry", 1.0, {"kg": 1, "m": 2, "s": -2, "A": -2}),
    ("bar", "bar", 1e5, {"kg": 1, "m": -1, "s": -2}), ("L", "liter", 1e-3, {"m": 3}),
    ("l", "liter", 1e-3, {"m": 3}),
)  # fmt: skip
PLAIN: tuple[tuple[str, str, float, dict[str, int]], ...] = (
    ("deg", "degree", math.pi / 180, {"rad": 1}), ("°", "degree", math.pi / 180, {"rad": 1}),
    ("turn", "revolution", 2 * math.pi, {"rad": 1}), ("rpm", "", 2 * math.pi / 60, {"rad": 1, "s": -1}),
    ("min", "minute", 60.0, {"s": 1}), ("h", "hour", 3600.0, {"s": 1}), ("d", "day", 86400.0, {"s": 1}),
    ("t", "tonne", 1e3, {"kg": 1}), ("percent", "", 1e-2, {}), ("%", "", 1e-2, {}),
    ("dimensionless", "", 1.0, {}), ("degC", "", 1.0, {"K": 1}), ("Nm", "", 1.0, {"kg": 1, "m": 2, "s": -2}),
)  # fmt: skip
OFFSETS = {"degC": 273.15}

TOKENS = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d_][^\W\d]*|[°%])|"
    r"(?P<power>\*\*|\^)|(?P<sign>[*·/().+-]))"
)


@dataclass(frozen=True)
class PhysicalUnit:
    """A unit: in base units of the SI a value is ``factor * value + offset``.

    name : as it is shown
    powers : of each of `BASE`; None for a unit of which nothing but its name is known
    terms : units it is written with, each with its power, so that "mm/s" times "s" is "mm"
    sure : False where nobody said it and it follows from equations of a plant
    followed : True where it follows from equations in which a number may hide that has a unit, as a gain of 1

    >>> PhysicalUnit.of("km/h").conversion(PhysicalUnit.of("m/s"))
    (0.2777777777777778, 0.0)
    """

    name: str
    powers: Powers | None
    factor: float = 1.0
    offset: float = 0.0
    terms: tuple[tuple[str, Fraction], ...] = ()
    sure: bool = field(default=True, compare=False)
    followed: bool = field(default=False, compare=False)

    @staticmethod
    def of(text: str | PhysicalUnit) -> PhysicalUnit:
        """The unit a text means, as "N*m", "m/s^2", "kg.m2", "1", "degC".

        Raises
        ------
        BlockError      it means none; offers the near miss
        """
        if isinstance(text, PhysicalUnit):
            return text
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            raise BlockError(f"{shown(text)} is no unit; write a text such as 'm/s^2' or 'N*m'.", value=text)
        return _parsed(text.strip())

    @staticmethod
    def of_file(name: str, exponents: Mapping[str, int] | None, factor: float, offset: float) -> PhysicalUnit:
        """A unit that a file names, with its definition in base units if it has one."""
        try:
            everyday: PhysicalUnit | None = _Reader(name).whole()
        except (KeyError, SyntaxError, ZeroDivisionError, OverflowError):
            everyday = None
        if exponents is None:
            return everyday or PhysicalUnit(name, None)
        powers = tuple(Fraction(exponents.get(word, 0)) for word in BASE)
        found = PhysicalUnit(name, powers, factor, offset, ((name, Fraction(1)),))
        return everyday if everyday is not None and everyday.is_same(found) else found

    def __hash__(self) -> int:
        """Of what tells most units apart: those of fractions take long."""
        return hash((self.name, self.factor))

    @property
    def base(self) -> str:
        """What it is made of, as "kg m^2 s^-2"; "1" for a number."""
        powers = self.powers or NONE
        found = [w if p == 1 else f"{w}^{p}" for w, p in zip(BASE, powers, strict=True) if p]
        return " ".join(found) or "1"

    def is_kind_of(self, other: PhysicalUnit) -> bool:
        """Do both measure the same: can one be converted to the other? True where nothing is known."""
        if self.powers is None or other.powers is None:
            return True
        angle, cycle = BASE.index("rad"), BASE.index("cycle")
        mine, theirs = self.powers, other.powers
        if mine[:angle] != theirs[:angle]:
            return False
        turns = [(p[angle] != 0, p[cycle] != 0) for p in (mine, theirs)]
        return turns not in ([(True, False), (False, True)], [(False, True), (True, False)])

    def conversion(self, other: PhysicalUnit) -> tuple[float, float]:
        """Gain and bias: a value in `other` is gain * (value in this unit) + bias."""
        if self.powers is None or other.powers is None:
            return 1.0, 0.0
        return self.factor / other.factor, (self.offset - other.offset) / other.factor

    def is_same(self, other: PhysicalUnit) -> bool:
        """Is a value in both the same number? True where nothing is known of one of them."""
        if self is other:
            return True
        gain, bias = self.conversion(other)
        return self.is_kind_of(other) and abs(gain - 1) <= SAME and abs(bias) <= SAME

    def times(self, other: PhysicalUnit, power: int | Fraction = 1) -> PhysicalUnit | None:
        """The unit of a product, or with `power` -1 of a quotient; None where that means nothing."""
        if self.powers is None or other.powers is None or self.offset or other.offset:
            return None
        powers = tuple(a + power * b for a, b in zip(self.powers, other.powers, strict=True))
        merged = dict(self.terms)
        for term, p in other.terms:
            merged[term] = merged.get(term, Fraction(0)) + power * p
        terms = tuple((t, p) for t, p in merged.items() if p)
        factor, sure = self.factor * other.factor ** float(power), self.sure and other.sure
        return PhysicalUnit(
            _written(terms), powers, factor, 0.0, terms, sure, self.followed or other.followed
        )

    def power(self, exponent: Fraction) -> PhysicalUnit | None:
        """The unit of a power."""
        return ONE.times(self, exponent)

    def guessed(self) -> PhysicalUnit:
        """The same, of something that nobody said it of."""
        return replace(self, sure=False)

    def behind_equations(self) -> PhysicalUnit:
        """The same, of what equations make of it in which a number may hide."""
        return self if self.followed else replace(self, followed=True)

    def __str__(self) -> str:
        return self.name


UnitText = str | PhysicalUnit
Units = UnitText | Sequence[UnitText]
"""The unit of all components of a signal, or one for each; "" where nothing is said."""

Found = tuple[PhysicalUnit | None, ...]
"""A unit for each component, None where nothing is known; () for none at all."""


def units_of(given: Units, what: str) -> Found:
    """Units as they are given: none, one for all, or one per component.

    Raises
    ------
    BlockError      a text is no unit
    """
    if isinstance(given, (str, PhysicalUnit)):
        return (_unit(given, what),) if given else ()
    if not isinstance(given, (list, tuple)):
        raise BlockError(f"the unit of {what} is {shown(given)}, expected a text such as 'm/s'.", value=given)
    found = tuple(None if u is None or u == "" else _unit(u, what) for u in given)
    return found if any(found) else ()


def _unit(given: UnitText, what: str) -> PhysicalUnit:
    try:
        return PhysicalUnit.of(given)
    except BlockError as error:
        raise BlockError(f"the unit of {what}: {error}", value=given) from None


def spread(units: Found, size: int) -> Found:
    """One unit for each of `size` components; () where nothing is known or the numbers differ."""
    if len(units) == size:
        return units
    return units * size if len(units) == 1 else ()


def names_of(units: Iterable[PhysicalUnit | None]) -> tuple[str, ...]:
    """Names as they are shown, "" where nothing is known; () if that is so everywhere."""
    names = tuple("" if u is None else u.name for u in units)
    return names if any(names) else ()


def _written(terms: Sequence[tuple[str, Fraction]]) -> str:
    """Terms as a text that means them: "N*m/s^2"."""
    raised = [(t, p) for t, p in terms if p > 0]
    lowered = [(t, -p) for t, p in terms if p < 0]
    whole = lambda t: t if t.isalnum() or t in "°%" else f"({t})"
    exponent = lambda p: f"^{p}" if p.denominator == 1 else f"^({p})"
    one = lambda t, p: whole(t) + ("" if p == 1 else exponent(p))
    above = "*".join(one(t, p) for t, p in raised) or "1"
    return "/".join([above, *(one(t, p) for t, p in lowered)])


def _table() -> dict[str, tuple[float, Powers]]:
    found: dict[str, tuple[float, Powers]] = {}
    for symbol, name, factor, exponents in SCALED:
        powers = tuple(Fraction(exponents.get(word, 0)) for word in BASE)
        for prefixes, word in ((PREFIXES, symbol), (WORDS, name)):
            for prefix, scale in prefixes.items():
                found.setdefault(prefix + word, (scale * factor, powers))
    found["kg"] = (1.0, found["kg"][1])  # 1e3 * 1e-3 is not
    del found["mcd"], found["hbar"]  # other things in pint
    for symbol, name, factor, exponents in PLAIN:
        powers = tuple(Fraction(exponents.get(word, 0)) for word in BASE)
        found |= {word: (factor, powers) for word in (symbol, name) if word}
    return found


EVERYDAY = _table()


@lru_cache(1000)
def _parsed(text: str) -> PhysicalUnit:
    try:
        return _Reader(text).whole()
    except (KeyError, SyntaxError, ZeroDivisionError, OverflowError):
        return _of_pint(text)


class _Reader:
    """Reads products, quotients and powers of everyday units; KeyError or SyntaxError for all else."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, place = text, [], 0
        while place < len(text.rstrip()):
            match = TOKENS.match(text, place)
            if match is None:
                raise SyntaxError(text)
            self.tokens.append((match.lastgroup or "", match[match.lastgroup or 0]))
            place = match.end()
        self.at = 0

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("", "")

    def whole(self) -> PhysicalUnit:
        found = self.product()
        if self.at < len(self.tokens):
            raise SyntaxError(self.text)
        offset = OFFSETS.get(self.text, 0.0)
        if not offset and any(term in OFFSETS for term, _ in found.terms):
            raise SyntaxError(self.text)  # a product of temperatures: pint knows differences
        return PhysicalUnit(self.text, found.powers, found.factor, offset, found.terms)

    def product(self) -> PhysicalUnit:
        found = self.raised()
        while True:
            kind, sign = self.peek()
            divides = kind == "sign" and sign == "/"
            if divides or (kind == "sign" and sign in "*·."):
                self.at += 1
            elif kind not in ("name", "number") and sign != "(":
                return found
            product = found.times(self.raised(), -1 if divides else 1)
            assert product is not None  # nothing here has an offset
            found = product

    def raised(self) -> PhysicalUnit:
        kind, word = self.peek()
        self.at += 1
        if kind == "sign" and word == "(":
            found = self.product()
            if self.peek()[1] != ")":
                raise SyntaxError(self.text)
            self.at += 1
        elif kind == "number":
            terms = () if float(word) == 1 else ((word, Fraction(1)),)
            found = PhysicalUnit(word, NONE, float(word), 0.0, terms)
        elif kind == "name":
            found = _named(word)
            kind, digits = self.peek()
            if kind == "number" and self._adjoins() and digits.isdigit():  # m2, as Modelica writes
                self.at += 1
                return found.power(Fraction(digits)) or found
        else:
            raise SyntaxError(self.text)
        if self.peek()[0] == "power":
            self.at += 1
            return found.power(self.exponent()) or found
        return found

    def _adjoins(self) -> bool:
        name, digits = self.tokens[self.at - 1][1], self.tokens[self.at][1]
        return name + digits in self.text

    def exponent(self) -> Fraction:
        inside = self.peek()[1] == "("
        self.at += inside
        sign = 1
        if self.peek()[1] in ("+", "-"):
            sign = -1 if self.peek()[1] == "-" else 1
            self.at += 1
        found = self._number()
        if inside:
            if self.peek()[1] == "/":
                self.at += 1
                found /= self._number()
            if self.peek()[1] != ")":
                raise SyntaxError(self.text)
            self.at += 1
        return sign * found

    def _number(self) -> Fraction:
        kind, digits = self.peek()
        if kind != "number":
            raise SyntaxError(self.text)
        self.at += 1
        found = Fraction(digits)
        if abs(found) > 100:
            raise SyntaxError(self.text)
        return found


def _named(word: str) -> PhysicalUnit:
    factor, powers = EVERYDAY[word]
    terms = () if word == "dimensionless" else ((word, Fraction(1)),)
    return PhysicalUnit(word, powers, factor, 0.0, terms)


ONE = PhysicalUnit("1", NONE)
SECOND = PhysicalUnit.of("s")

PINT = {"kilogram": "kg", "meter": "m", "second": "s", "ampere": "A", "kelvin": "K", "mole": "mol",
        "candela": "cd", "radian": "rad"}  # fmt: skip


LONGEST = 200  # characters
HUGE = re.compile(r"(\*\*|\^)\s*\(?[+-]?\s*(\d{3,}|\d+[eE])|\d\s*(\*\*|\^)")  # numbers raised, huge powers


def _of_pint(text: str) -> PhysicalUnit:
    """A unit that is none of every day."""
    import pint

    try:
        if len(text) > LONGEST or HUGE.search(text):
            raise ValueError(text)
        registry = pint.get_application_registry()
        unit = registry.Unit(text)
        zero, one, two = (registry.Quantity(float(k), unit).to_base_units() for k in range(3))
        found = {PINT[word]: Fraction(power).limit_denominator(100) for word, power in one.unit_items()}
        factor, offset = float(one.magnitude - zero.magnitude), float(zero.magnitude)
    except Exception:  # pint raises errors of many kinds about texts that are no units
        near = near_miss(text, [word for row in (*SCALED, *PLAIN) for word in row[:2] if word])
        raise BlockError(f"'{text}' is no unit that pint knows; {near}", value=text) from None
    powers = tuple(found.get(word, Fraction(0)) for word in BASE)
    if not math.isclose(float(two.magnitude), 2.0 * factor + offset, rel_tol=SAME):
        return PhysicalUnit(text, None)  # of a logarithmic scale: no factor converts it
    if not math.isfinite(factor) or factor <= 0:
        raise BlockError(f"'{text}' is no unit: its factor is {factor}.", value=text)
    if offset:
        factor = round(factor, 12)
    return PhysicalUnit(text, powers, factor, offset, ((text, Fraction(1)),))
