"""Which strategy a row gets, and where its striping comes from; a communicator of one process is enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_pario import mpi
from pytest_pario.access.info import hints_in_force
from pytest_pario.environment import stripe
from pytest_pario.errors import ParameterError, StripeUnknownError
from pytest_pario.model import Pattern
from pytest_pario.patterns import Strided
from pytest_pario.workloads import delegation
from pytest_pario.workloads.delegation import settle
from pytest_pario.workloads.resonance.choosing import carried_out_by, resonant_strategy


class Alone:
    """The face of a communicator that `on_root` needs."""

    rank, size = 0, 1

    def bcast(self, value: Any, root: int = 0) -> Any:
        return value


ROW = Pattern("a", Strided(4), True)
COMM: Any = Alone()


def test_the_row_wins(tmp_path: Path) -> None:
    named = Pattern("a", Strided(4), True, strategy="two_phase")
    assert str(settle(COMM, named, "native", {}, tmp_path)) == "two_phase"
    assert str(settle(COMM, ROW, "native", {}, tmp_path)) == "native"
    assert settle(COMM, ROW, None, {}, tmp_path) is None
    posix = Pattern("a", Strided(4), pointer="explicit", api="posix")
    assert settle(COMM, posix, "two_phase", {}, tmp_path) is None


def test_striping_is_given_or_asked_for_never_guessed(tmp_path: Path) -> None:  # RES-02, RES-12, ERR-11
    hints = {"striping_unit": "65536", "striping_factor": "4"}
    found = settle(COMM, ROW, "resonant", hints, tmp_path)
    assert found is not None
    assert (found.unit, found.nodes) == (65536, 4)
    with pytest.raises(StripeUnknownError, match="give striping_unit and striping_factor"):
        settle(COMM, ROW, "resonant", {}, tmp_path)
    with pytest.raises(StripeUnknownError, match="give striping_factor"):
        settle(COMM, ROW, "resonant", {"striping_unit": "65536"}, tmp_path)


LUSTRE = {"romio_filesystem_type": "LUSTRE: driver", "striping_unit": "1048576", "striping_factor": "8"}


@pytest.mark.parametrize(
    ("kind", "in_force", "told"),
    [
        ("lustre", LUSTRE, (1048576, 8)),
        ("lustre", LUSTRE | {"striping_factor": "0"}, None),
        ("lustre", LUSTRE | {"romio_filesystem_type": "UFS: generic"}, None),
        # a library echoes what it was asked for, also where no filesystem can carry it out
        ("ext4", LUSTRE, None),
    ],
)
def test_hints_in_force_are_asked_last(  # RES-02
    kind: str, in_force: dict[str, str], told: tuple[int, int] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stripe, "type_of", lambda _context: kind)
    monkeypatch.setattr(delegation, "hints_in_force", lambda _directory, _hints: in_force)
    if told is None:
        with pytest.raises(StripeUnknownError):
            settle(COMM, ROW, "resonant", {}, tmp_path)
        return
    found = settle(COMM, ROW, "resonant", {}, tmp_path)
    assert found is not None
    assert (found.unit, found.nodes) == told
    # what was given comes first
    found = settle(COMM, ROW, "resonant:nodes=3", {}, tmp_path)
    assert found is not None
    assert (found.unit, found.nodes) == (told[0], 3)


@pytest.mark.skipif(mpi.unavailable_reason() is not None, reason="no MPI library")
def test_hints_in_force_leave_nothing_behind(tmp_path: Path) -> None:
    assert hints_in_force(tmp_path, {"cb_buffer_size": "65536"})["cb_buffer_size"] == "65536"
    assert list(tmp_path.iterdir()) == []


def test_a_suite_says_whose_striping_it_plans_for(tmp_path: Path) -> None:  # RES-02
    text, source = resonant_strategy(COMM, tmp_path, {"striping_unit": "4096", "striping_factor": "2"})
    assert (text, source) == ("resonant:unit=4096,nodes=2", "parameter striping_unit, parameter striping_factor")
    text, source = resonant_strategy(COMM, tmp_path, {})
    assert text == "resonant:unit=65536,nodes=4"
    assert source.startswith("the suite's own (")


@pytest.mark.parametrize(
    ("hints", "strategy", "kept"),
    [
        ({"striping_unit": "1M"}, "resonant:unit=1048576,nodes=4", "parameter striping_unit"),
        ({"striping_factor": "8"}, "resonant:unit=65536,nodes=8", "parameter striping_factor"),
    ],
)
def test_half_a_striping_that_was_given_is_used(
    hints: dict[str, str], strategy: str, kept: str, tmp_path: Path
) -> None:  # RES-02
    text, source = resonant_strategy(COMM, tmp_path, hints)
    assert text == strategy
    assert source.startswith(f"{kept}, the suite's own (")
    with pytest.raises(ParameterError, match="striping_unit = 'much'"):
        resonant_strategy(COMM, tmp_path, {"striping_unit": "much"})


def test_hints_in_force_are_the_third_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # RES-02
    told = {"romio_filesystem_type": "PVFS2: PVFS2 ROMIO ADIO", "striping_unit": "65536", "striping_factor": "16"}
    monkeypatch.setattr(delegation, "hints_in_force", lambda *_: told)
    # a driver that echoes what it was asked for is no evidence, and is not asked
    assert resonant_strategy(COMM, tmp_path, {})[1].startswith("the suite's own (")
    monkeypatch.setattr(stripe, "type_of", lambda _: "pvfs2")
    assert resonant_strategy(COMM, tmp_path, {}) == ("resonant:unit=65536,nodes=16", "hints of PVFS2")


def test_largeblock_means_independent_calls(tmp_path: Path) -> None:  # GPFS-38
    shipping = settle(COMM, ROW, "data_shipping", {"IBM_largeblock_io": "true"}, tmp_path)
    assert str(shipping) == "independent"
    for value, really in (("true", "independent"), ("false", "data_shipping")):
        assert carried_out_by("data_shipping", {"IBM_largeblock_io": value}) == really
        assert carried_out_by("resonant", {"IBM_largeblock_io": value}) == "resonant"
