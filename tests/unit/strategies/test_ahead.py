"""An agent of data shipping that reads ahead: in order, bounded, nothing left under way."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_pario.errors import ParameterError
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.schemes.settings import StrategySettings, parse_strategy
from pytest_pario.strategies.data_shipping import DataShipping
from pytest_pario.strategies.protocol import Movement, Site
from pytest_pario.strategies.store import Done
from tests.unit.strategies.threads import Comm, MemoryFile, World


class Watched(MemoryFile):
    """Keeps what was asked for, and how."""

    def __init__(self, image: Bytes) -> None:
        super().__init__(image)
        self.started: list[tuple[int, int]] = []

    def start_read(self, offset: int, out: Bytes) -> Done:
        self.started.append((offset, out.size))
        return super().start_read(offset, out)


def read(settings: StrategySettings, offsets: list[int]) -> tuple[Watched, Bytes]:
    image = (np.arange(4000) % 251).astype(np.uint8)
    file, memory = Watched(image), np.zeros(10 * len(offsets), dtype=np.uint8)
    site = Site(Comm(World(1), 0), file)  # type: ignore[arg-type]
    where, lengths = np.array(offsets, dtype=np.int64), np.full(len(offsets), 10, dtype=np.int64)
    DataShipping(settings).carry_out(site, Movement(where, np.arange(len(offsets)) * 10, lengths, memory, False))
    assert site.errors == []
    assert memory.tolist() == [x % 251 for offset in offsets for x in range(offset, offset + 10)]
    return file, memory


def test_irregular_ranges_are_asked_for_ahead_one_per_block() -> None:  # GPFS-42
    guided = StrategySettings("data_shipping", block=100, stripe=1000, max_pre=2, max_acc=2)
    file, _ = read(guided, [5, 40, 130, 510, 777])
    # from the first byte wanted of a block to the last
    assert file.started == [(5, 45), (130, 10), (510, 10), (777, 10)]


def test_regular_ranges_need_no_guidance() -> None:  # GPFS-42
    guided = StrategySettings("data_shipping", block=100, stripe=1000, max_pre=2)
    assert read(guided, [0, 200, 400, 600])[0].started == []
    assert read(StrategySettings("data_shipping", block=100, stripe=1000), [5, 40, 777])[0].started == []


def test_bad_guidance_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"data_shipping\.max_acc = 3"):
        parse_strategy("data_shipping:max_pre=2,max_acc=3")
    with pytest.raises(ParameterError, match=r"data_shipping\.max_pre = -1"):
        parse_strategy("data_shipping:max_pre=-1")
