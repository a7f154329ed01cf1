"""The strategies that carry out calls themselves, by name; `native` and `independent` are calls of the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pytest_pario.schemes.settings import StrategySettings
from pytest_pario.strategies.data_shipping import DataShipping
from pytest_pario.strategies.protocol import Strategy
from pytest_pario.strategies.resonant import Resonant
from pytest_pario.strategies.two_phase import TwoPhase

MEMBERS: Mapping[str, Callable[[StrategySettings], Strategy]] = {
    kind.name: kind for kind in (TwoPhase, DataShipping, Resonant)
}


def make_strategy(settings: StrategySettings) -> Strategy | None:
    """The strategy of these settings; None where the library's own calls are wanted."""
    kind = MEMBERS.get(settings.name)
    return kind(settings) if kind is not None else None
