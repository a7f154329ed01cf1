"""Kinds of parameter values: how each is written, which are allowed. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Protocol

from pytest_pario.units import GiB, KiB, MiB, TiB

_SIZE = re.compile(r"(\d+)\s*(?:([KMGT])(?:i?B)?|B)?", re.IGNORECASE)
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_UNITS = {"": 1, "K": KiB, "M": MiB, "G": GiB, "T": TiB}
_TRUE, _FALSE = ("yes", "true", "on"), ("no", "false", "off")


class Kind(Protocol):
    """What the values of a parameter are."""

    @property
    def allowed(self) -> str:
        """The allowed range in words, to end a sentence with."""

    def read(self, text: str) -> object:
        """The value that a text stands for; ValueError if it is none that is allowed."""

    def accepts(self, value: object) -> bool:
        """Whether a value given by a suite is allowed."""


@dataclass(frozen=True)
class Whole:
    """A whole number in a range."""

    least: int = 0
    most: int | None = None

    @property
    def allowed(self) -> str:
        """The range."""
        most = "or more" if self.most is None else f"to {self.most}"
        return f"a whole number, {self.least} {most}"

    def read(self, text: str) -> int:
        """Digits with a sign."""
        return self._within(int(text))

    def accepts(self, value: object) -> bool:
        """Whether it is a number in the range; true and false are none."""
        whole = isinstance(value, int) and not isinstance(value, bool)
        return whole and self.least <= value and (self.most is None or value <= self.most)  # type: ignore[operator]

    def _within(self, value: int) -> int:
        if not self.accepts(value):
            raise ValueError(value)
        return value


@dataclass(frozen=True)
class Size(Whole):
    """A number of bytes; K, M, G, T (also KiB, kb …) count in powers of 1024 (CONS-24)."""

    @property
    def allowed(self) -> str:
        """The range and the units."""
        most = "or more" if self.most is None else f"to {self.most}"
        return f"a number of bytes, {self.least} {most}, such as 4096 or 4K"

    def read(self, text: str) -> int:
        """Digits with an optional unit."""
        match = _SIZE.fullmatch(text.strip())
        if match is None:
            raise ValueError(text)
        return self._within(int(match[1]) * _UNITS[(match[2] or "").upper()])


@dataclass(frozen=True)
class Seconds:
    """A positive number of seconds."""

    most: float = math.inf

    @property
    def allowed(self) -> str:
        """The range."""
        return "a positive number of seconds" + ("" if math.isinf(self.most) else f", at most {self.most:g}")

    def read(self, text: str) -> float:
        """A decimal number."""
        value = float(text)
        if not self.accepts(value):
            raise ValueError(text)
        return value

    def accepts(self, value: object) -> bool:
        """Whether it is positive and finite."""
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and 0 < value <= self.most and math.isfinite(value)  # type: ignore[operator,arg-type]


@dataclass(frozen=True)
class Flag:
    """Yes or no; as a number, non-zero is yes (CONS-55)."""

    allowed: str = "a whole number (0 is no), or yes or no"

    def read(self, text: str) -> bool:
        """A number or a word."""
        word = text.strip().lower()
        return word in _TRUE if word in _TRUE + _FALSE else int(word) != 0

    def accepts(self, value: object) -> bool:
        """True, false or a whole number."""
        return isinstance(value, int)


@dataclass(frozen=True)
class Choice:
    """One of some words."""

    words: tuple[str, ...]

    @property
    def allowed(self) -> str:
        """The words."""
        return "one of " + ", ".join(self.words)

    def read(self, text: str) -> str:
        """One of the words."""
        if text not in self.words:
            raise ValueError(text)
        return text

    def accepts(self, value: object) -> bool:
        """Whether it is one of the words."""
        return value in self.words


@dataclass(frozen=True)
class Text:
    """Any text but the empty one."""

    allowed: str = "a text that is not empty"

    def read(self, text: str) -> str:
        """The text as it is."""
        if not self.accepts(text):
            raise ValueError(text)
        return text

    def accepts(self, value: object) -> bool:
        """Whether it is a text with something in it, and one that can go through C."""
        return isinstance(value, str) and bool(value.strip()) and "\0" not in value


@dataclass(frozen=True)
class FileName:
    """The name of a file without a folder: where it lies is said by the scratch directory (CONS-55)."""

    allowed: str = "a name of letters, digits and . _ + - without a folder (--pario-dir says where the file lies)"

    def read(self, text: str) -> str:
        """The name as it is."""
        if not self.accepts(text):
            raise ValueError(text)
        return text

    def accepts(self, value: object) -> bool:
        """Whether it is a name of one file."""
        return isinstance(value, str) and bool(_FILE_NAME.fullmatch(value))
