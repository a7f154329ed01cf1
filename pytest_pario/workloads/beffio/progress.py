"""How far a run of b_eff_io is, and when it will end; only what was selected counts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_pario.workloads.beffio.schedule import Step

SMALL = 0.05
"""Weight of a pattern without a share of time."""


@dataclass(frozen=True)
class Progress:
    """The selected steps in their order; what stands before a step is done when it begins, whatever became of it."""

    steps: Sequence[Step]
    unit_s: float
    """Scheduled seconds of one unit of time, T_n / S."""

    def done(self, step: Step) -> float:
        """Part of the work that is done when a step begins, from 0 to 1."""
        return _weight(self._before(step)) / _weight(self.steps)

    def scheduled_s(self, step: Step) -> tuple[float, float]:
        """Seconds of the schedule that are over when a step begins, and all of them.

        Only the initial write of types 0 to 2 is driven by time; the rest repeats what that has written.
        """
        return self._timed_s(self._before(step)), self._timed_s(self.steps)

    def rest_s(self, step: Step, first: Step, used_s: float) -> float | None:
        """Seconds that are left when `used_s` have gone by since the step `first`; None where nothing was done."""
        begun, now = self.done(first), self.done(step)
        return used_s * (1 - now) / (now - begun) if now > begun else None

    def _before(self, step: Step) -> Sequence[Step]:
        return self.steps[: self.steps.index(step)]

    def _timed_s(self, steps: Sequence[Step]) -> float:
        timed = (one.row.units for one in steps if one.access == "write" and one.row.type <= 2)
        return sum(timed) * self.unit_s


def _weight(steps: Sequence[Step]) -> float:
    return sum(step.row.units or SMALL for step in steps)
