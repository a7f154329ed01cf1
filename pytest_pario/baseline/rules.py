"""The constants of the verdict on one page; docs/verdicts.md has the formulas and where each number comes from."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_pario.errors import ParameterError


@dataclass(frozen=True)
class Gate:
    """One gate: red where the last nights stay below the baseline by more than a margin plus a part of its spread."""

    nights: int
    """How many valid nights the window has."""
    own_margin: float
    """Least fall of the test itself, as a logarithm."""
    own_spreads: float
    """Added to it: so many robust standard deviations of the test's baseline."""
    margin: float
    """Least fall beside the control, as a logarithm."""
    spreads: float
    """Added to it: so many robust standard deviations of the controlled baseline."""
    excused: int = 0
    """How many of the best controlled nights are passed over: peers that dip lift the controlled value."""

    def __post_init__(self) -> None:
        if self.nights < 1 or not 0 <= self.excused < self.nights:
            raise ParameterError("gate", (self.nights, self.excused), "1 or more nights, fewer excused than that")


@dataclass(frozen=True)
class Rules:
    """All that the judge may be told otherwise."""

    # fmt: off
    explained: Gate = Gate(nights=3, own_margin=0.02, own_spreads=0.19, margin=0.030, spreads=0.62)
    """Where the fingerprint changed inside the window."""
    unexplained: Gate = Gate(nights=5, own_margin=0.02, own_spreads=0.25, margin=0.060, spreads=0.55, excused=1)
    """Everywhere else."""
    calm: Gate = Gate(nights=7, own_margin=0.02, own_spreads=0.25, margin=0.040, spreads=0.40, excused=1)
    """To be put in the place of `unexplained` by a site that would rather wait two nights longer: fewer false reds."""
    group_explained: Gate = Gate(nights=3, own_margin=0.035, own_spreads=1.10, margin=0.0, spreads=0.0)
    """The median of a group, where the fingerprint changed."""
    group_unexplained: Gate = Gate(nights=7, own_margin=0.035, own_spreads=0.80, margin=0.0, spreads=0.0)
    """The median of a group, everywhere else; its members must have fallen by their own margin, too."""
    # fmt: on
    baseline_nights: int = 14
    """Nights before the window that make the baseline."""
    baseline_least: int = 10
    """Fewer of them: the test is learning."""
    control_nights: int = 30
    """Nights over whose median a test's deviation is taken when it serves others as control."""
    control_least: int = 5
    """Fewer of them: it serves as none."""
    control_peers: int = 2
    """With fewer peers on a night there is no control, and the test is judged by itself."""
    accepted_least: int = 3
    """Nights after an acceptance before the new level is judged."""
    yellow_spreads: float = 3.0
    """Tonight is yellow below so many spreads, alone and beside the control,"""
    yellow_margin: float = 0.105
    """and below this logarithm (-10 %)."""
    spread_floor: float = 0.03
    """A spread below this is taken for luck."""
    blind_effect: float = 0.30
    """A test whose least detectable fall is more than this is blind."""
    confidence: float = 0.90
    """Of printed intervals."""
    resamples: int = 400
    """Of the bootstrap over nights."""
    serial_widening: float = 0.6
    """An interval is wider by so many times the correlation of a night with the next one, which a bootstrap ignores."""
    dated_widening: float = 1.4
    """And so many times as wide where its nights were chosen by dating a level that moved."""


DEFAULT = Rules()
