"""Requests that are under way when something goes wrong: each is waited for before its buffer is used again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_pario import mpi
from pytest_pario.patterns.pieces import Bytes
from pytest_pario.schemes.settings import parse_strategy
from pytest_pario.strategies import second_phase
from pytest_pario.strategies.catalogue import make_strategy
from pytest_pario.strategies.files import MpiPending
from pytest_pario.strategies.protocol import Movement, Site
from tests.unit.strategies.threads import Comm, MemoryFile, World


class Late:
    """A transfer that ends when it is waited for, with an error where it has one."""

    def __init__(self, out: Bytes, error: Exception | None) -> None:
        self._out, self._error, self.waited = out, error, 0

    def wait(self) -> int:
        self.waited += 1
        if self._error is not None:
            raise self._error
        return self._out.size


class LateFile(MemoryFile):
    """A file whose reads end late; some fail when they are waited for, and some when they are asked for."""

    def __init__(self, failing: set[int], refused: set[int]) -> None:
        super().__init__(np.zeros(4000, dtype=np.uint8))
        self._failing, self._refused, self.started = failing, refused, list[Late]()

    def start_read(self, offset: int, out: Bytes) -> Any:
        if len(self.started) in self._refused:
            raise OSError(28, "refused")
        error = OSError(5, "late") if len(self.started) in self._failing else None
        self.started.append(Late(out, error))
        return self.started[-1]


def read(strategy: str, file: LateFile) -> list[str]:
    """The errors of one read of four ranges in four blocks."""
    site = Site(Comm(World(1), 0), file)  # type: ignore[arg-type]
    offsets, lengths = np.array([5, 130, 210, 777]), np.full(4, 10)
    made = make_strategy(parse_strategy(strategy))
    assert made is not None
    made.carry_out(site, Movement(offsets, np.arange(4) * 10, lengths, np.zeros(40, dtype=np.uint8), writes=False))
    assert [one.waited for one in file.started] == [1] * len(file.started)
    return [str(error) for error in site.errors]


@pytest.mark.parametrize(
    ("failing", "refused", "started", "told"),
    [
        ({1}, set(), 4, ["[Errno 5] late"]),
        ({1, 3}, set(), 4, ["[Errno 5] late"] * 2),
        (set(), {2}, 2, ["[Errno 28] refused"]),
    ],
)
def test_an_error_leaves_no_read_ahead(  # GPFS-42
    failing: set[int], refused: set[int], started: int, told: list[str]
) -> None:
    file = LateFile(failing, refused)
    assert read("data_shipping:block=100,stripe=1000,max_pre=4", file) == told
    assert len(file.started) == started


@pytest.mark.parametrize("refused", [set(), {2}])
def test_an_error_of_the_second_phase_leaves_no_first(  # RES-18
    refused: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object) -> None:
        raise MemoryError("second phase")

    monkeypatch.setattr(second_phase, "move_directly", broken)
    file = LateFile(set(), refused)
    told = read("resonant:unit=100,nodes=4,scheme=agents", file)
    assert len(file.started) == (2 if refused else 4)
    assert told[-1] == "second phase"


def test_every_part_of_a_transfer_is_waited_for() -> None:  # GPFS-42
    if mpi.unavailable_reason():
        pytest.skip("no MPI library")

    class Broken:
        waited = 0

        def Wait(self, _status: object) -> None:  # noqa: N802 - the name is that of mpi4py
            Broken.waited += 1
            raise OSError(5, f"part {Broken.waited}")

    pending: Any = MpiPending(*(Broken() for _ in range(3)))  # type: ignore[arg-type]
    with pytest.raises(OSError, match="part 1"):
        pending.wait()
    assert Broken.waited == 3
