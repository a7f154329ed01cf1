"""What the doctor makes of findings: hints, wrong bytes, consequences, and the last line."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_pario.access.probe import offset_of
from pytest_pario.environment.capabilities import Capability
from pytest_pario.report.doctor import Diagnosis
from pytest_pario.session.consequences import FEW_RANKS, consequences
from pytest_pario.session.doctor import mpi_capabilities

HINTS = {"honoured": ["cb_nodes", "striping_factor", "striping_unit"], "changed": [], "dropped": ["IBM_largeblock_io"]}
RIGHT: dict[str, Any] = {
    "library": {"version": "MPICH", "ranks": 2},
    "hints": HINTS,
    "collective": {"right": True},
    "shared_pointer": {"right": True},
    "atomic": {"right": True},
}


def found(kind: str = "ext4", **told: Any) -> dict[str, Capability]:
    return {one.name: one for one in mpi_capabilities({**RIGHT, **told}, kind)}


def diagnosis(*findings: Capability) -> Diagnosis:
    return Diagnosis("/data", {}, findings, consequences(findings))


def test_stripes_that_are_only_echoed_are_not_honoured() -> None:  # ENV-21
    told = found("ext4")["hints"].detail
    assert told == (
        "honoured: cb_nodes; only echoed, ext4 has no stripes: striping_factor, striping_unit; "
        "dropped: IBM_largeblock_io"
    )
    assert found("lustre")["hints"].detail.startswith("honoured: cb_nodes, striping_factor, striping_unit;")


@pytest.mark.parametrize("name", ["collective", "shared_pointer", "atomic"])
def test_wrong_bytes_are_grave(name: str) -> None:
    told: dict[str, Any] = {name: {"right": False}}
    one = found("ext4", **told)[name.replace("_", " ")]
    assert (one.state, one.is_grave) == ("no", True)
    assert "wrong bytes" in one.detail
    page = diagnosis(one)
    assert not page.healthy
    assert page.lines[-1] == f"first: {one.cure} ({one.name})"


def test_a_shared_pointer_that_fails_is_told_with_the_cure() -> None:
    one = found(shared_pointer={"error": "no locks"})["shared pointer"]
    page = diagnosis(Capability("create", "yes", "fine"), one)
    assert page.healthy  # other tests can run
    assert any("beff_noshared=1" in line and "->" in line for line in page.lines)
    assert any("b_eff_io type 1 (shared): fails" in line for line in page.lines)
    assert page.lines[-1].startswith("first: leave them out")


def test_collective_calls_that_do_not_answer_are_no_health() -> None:
    assert not diagnosis(found(collective={"error": "no answer within 60 s"})["collective"]).healthy


def test_the_most_urgent_comes_first() -> None:
    evict = Capability("evict", "no", "100% cached", "choose a disk")
    space = Capability("space", "no", "1 MiB free", "free some space")
    damage = Capability("atomic", "no", "wrong bytes", "leave them out", is_grave=True)
    assert diagnosis(evict, space).summary == "first: free some space (space)"
    assert diagnosis(evict, space, damage).summary == "first: leave them out (atomic)"
    # what only leaves tests out needs nothing done
    assert diagnosis(Capability("drop_caches", "no", "not root", "needs root")).summary == "fine"


def test_what_is_skipped_is_named() -> None:
    told = consequences([Capability("direct", "no", "refused"), Capability("evict", "no", "cached")], is_memory=True)
    assert any(line.startswith("test_direct") and "skipped, no O_DIRECT" in line for line in told)
    assert any(line.startswith("sustained-read: no class name") for line in told)
    assert told[0] == "performance classes: none has its name, memory is no storage"
    assert told[-1] == FEW_RANKS
    assert not any("test_direct" in line for line in consequences([Capability("direct", "yes", "fine")]))


def test_clocks_are_compared_by_the_fastest_exchange() -> None:  # CONS-30
    ahead = 5.0
    exchanges = [(t, t + delay / 4 + ahead, t + delay) for t, delay in ((0.0, 0.8), (10.0, 0.1), (20.0, 0.4))]
    apart, within = offset_of(exchanges)
    assert within == pytest.approx(0.05)
    assert abs(apart - ahead) <= within
