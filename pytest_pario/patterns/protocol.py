"""What a layout is: the oracle (`calls`) and what MPI is told (`recipe`), built separately (MODEL-02)."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from pytest_pario.errors import ParameterError
from pytest_pario.model import Extents
from pytest_pario.patterns.recipe import View

LARGEST = 1 << 56
"""No parameter is larger, so that no sum or product of offsets leaves 64 bits unnoticed."""


class Layout(ABC):
    """Which bytes of the file each rank moves in which call; members are frozen dataclasses."""

    name: ClassVar[str]

    @property
    def overlapping(self) -> bool:
        """Whether two ranks may write the same byte, so that stamps must not depend on the writer (GEN-02)."""
        return False

    @property
    def mixing(self) -> bool:
        """Whether a call of a rank may begin between the first and the last byte of another call of it."""
        return False

    @property
    def ordered(self) -> bool:
        """Whether the calls of all ranks, in rank order, follow each other without gaps (shared pointer)."""
        return False

    @abstractmethod
    def calls(self, rank: int, n: int) -> Extents:
        """The extents of one repetition of `rank` of `n`, from arithmetic alone: the oracle.

        All ranks have as many calls, empty ones where a rank has nothing to move: collective calls need everybody.
        """

    @abstractmethod
    def recipe(self, rank: int, n: int) -> Sequence[View]:
        """How MPI is told the same thing: one view for all calls, or several with some calls each.

        A single view tiles the file, so further repetitions go on under it; several are set again, `period` further on.
        All ranks have as many views, of the same elementary type: setting a view is collective.
        """

    @abstractmethod
    def period(self, n: int) -> int:
        """Bytes by which the next repetition, or the next pattern of a chain, lies further on (MODEL-04)."""

    def limit(self, n: int) -> int | None:
        """Bytes from the first position of a rank that repetitions must not leave; None where there is no limit."""
        return None

    def team(self, n: int) -> int:
        """How many of `n` ranks take part, from rank 0 on."""
        return n

    def check(self, n: int) -> None:  # noqa: B027 - most layouts run on any number of ranks
        """Raise ParameterError where the layout is impossible on `n` ranks."""

    def at(self, n: int) -> Layout:
        """The layout itself, after its checks for `n` ranks."""
        if n < 1:
            raise ParameterError("ranks", n, "1 or more")
        self.check(n)
        return self

    def parameters(self) -> dict[str, object]:
        """The parameters that differ from their defaults."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        defaults = {f.name: f.default for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in values.items() if value != defaults[name]}

    def require(self, holds: bool, parameter: str, allowed: str) -> None:
        """Raise ParameterError naming parameter and value unless `holds`."""
        if not holds:
            raise ParameterError(f"{self.name}.{parameter}", getattr(self, parameter), allowed)

    def require_whole(self, least: int, *parameters: str) -> None:
        """Raise ParameterError unless each parameter is a whole number of at least `least`."""
        for parameter in parameters:
            value = getattr(self, parameter)
            whole = isinstance(value, int) and not isinstance(value, bool)
            self.require(whole and least <= value <= LARGEST, parameter, f"a whole number, {least} or more")
