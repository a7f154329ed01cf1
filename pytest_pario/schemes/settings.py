"""The strategies by name, and how one is asked for: `resonant:scheme=timed,unit=64KiB,nodes=4`. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pytest_pario.errors import ParameterError, UnknownParameterError
from pytest_pario.model import STRATEGIES
from pytest_pario.schemes.timed import DELAY_S, require_delay
from pytest_pario.units import MiB, parse_bytes

Scheme = Literal["auto", "agents", "timed"]
SecondPhase = Literal["direct", "exchange"]
BUFFER = 16 * MiB
"""What an agent holds in memory at once, unless told otherwise."""


@dataclass(frozen=True)
class StrategySettings:
    """One strategy and its parameters; what a strategy does not use, it does not look at."""

    name: str
    agents: int | None = None
    """How many ranks touch the file in two_phase and data_shipping; None takes all."""
    buffer: int | None = None
    """Bytes that an agent holds at once (two_phase, resonant); None takes 16 MiB."""
    stripe: int | None = None
    """Bytes bound to one agent at a time in data_shipping, rounded up to whole blocks; None is 16 blocks."""
    block: int = 0
    """File block of data_shipping; 0 takes 256 KiB."""
    max_pre: int = 0
    """Ranges that a data_shipping agent reads ahead where its ranges are irregular (GPFS-42); 0 reads none ahead."""
    max_acc: int = 1
    """Ranges that it takes in before it asks for more, at most `max_pre`."""
    unit: int | None = None
    """Striping unit (resonant); None asks the filesystem."""
    nodes: int | None = None
    """Number of I/O nodes (resonant); None asks the filesystem."""
    scheme: Scheme = "auto"
    """Agents, timed, or whichever the requests call for (RES-26)."""
    second: SecondPhase = "direct"
    """How a read's second phase gets its bytes: from the nodes' caches, or from the agents."""
    merge: bool = True
    """Whether resonant agents join what is adjacent before they count to 64 segments (RES-27)."""
    per_node: int = 1
    """Agents of each node, one after the other (RES-23)."""
    delay_s: float = DELAY_S
    """Pause of a timed process before the next one may send."""

    def __post_init__(self) -> None:
        if self.name not in STRATEGIES:
            raise ParameterError("strategy", self.name, f"one of {', '.join(STRATEGIES)}", "strategy")
        for name in ("agents", "buffer", "stripe", "unit", "nodes", "per_node"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ParameterError(f"{self.name}.{name}", value, "1 or more", "strategy")
        for name in ("block", "max_pre"):
            if getattr(self, name) < 0:
                raise ParameterError(f"{self.name}.{name}", getattr(self, name), "0 or more", "strategy")
        if not 1 <= self.max_acc <= max(1, self.max_pre):
            raise ParameterError(f"{self.name}.max_acc", self.max_acc, "1 to max_pre", "strategy")
        for name, kind in (("scheme", Scheme), ("second", SecondPhase)):
            if getattr(self, name) not in get_args(kind):
                allowed = "one of " + ", ".join(get_args(kind))
                raise ParameterError(f"{self.name}.{name}", getattr(self, name), allowed, "strategy")
        require_delay(self.delay_s)

    @property
    def buffer_bytes(self) -> int:
        """The buffer, told or not."""
        return BUFFER if self.buffer is None else self.buffer

    def __str__(self) -> str:
        changed = (
            f"{field.name}={getattr(self, field.name)}"
            for field in dataclasses.fields(self)
            if field.name != "name" and getattr(self, field.name) != field.default
        )
        told = ",".join(changed)
        return f"{self.name}:{told}" if told else self.name


def _yes_or_no(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


_READERS: Mapping[str, Callable[[str], Any]] = {
    "agents": int,
    "buffer": parse_bytes,
    "stripe": parse_bytes,
    "block": parse_bytes,
    "max_pre": int,
    "max_acc": int,
    "unit": parse_bytes,
    "nodes": int,
    "per_node": int,
    "scheme": str,
    "second": str,
    "delay_s": float,
    "merge": _yes_or_no,
}


def parse_strategy(text: str) -> StrategySettings:
    """Take a name, or a name with parameters behind a colon."""
    name, _, rest = text.partition(":")
    given: dict[str, Any] = {}
    for pair in filter(None, rest.split(",")):
        key, _, value = pair.partition("=")
        if key not in _READERS:
            raise UnknownParameterError(key, _READERS)
        try:
            given[key] = _READERS[key](value)
        except ValueError:
            raise ParameterError(
                f"{name}.{key}", value, "a number, a size such as 64KiB, true or false", "strategy"
            ) from None
    return StrategySettings(name, **given)


HINTS = {
    "unit": "striping_unit",
    "nodes": "striping_factor",
    "agents": "cb_nodes",
    "stripe": "IBM_io_buffer_size",
    "buffer": "cb_buffer_size",
}
"""The hint that fills in each parameter."""


def with_hints(settings: StrategySettings, hints: Mapping[str, str]) -> StrategySettings:
    """Fill in what hints say and the settings leave open; a hint of 0 says nothing, one that is no size is refused."""
    told: dict[str, Any] = {}
    for key, hint in HINTS.items():
        is_open = getattr(settings, key) is None
        value = _size_of(hint, hints[hint]) if is_open and hint in hints else 0
        if value > 0:
            told[key] = value
    return dataclasses.replace(settings, **told)


def _size_of(hint: str, text: str) -> int:
    """A hint's value in bytes: plain digits, or a size as `2MB`, whose M is 2^20."""
    try:
        return parse_bytes(text)
    except ValueError:
        raise ParameterError(hint, text, "a number of bytes or a size such as 16MB", "hint") from None
