"""The store: whole files or none, nothing lost, nothing foreign believed."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from pytest_pario.baseline.series import read_entry, strip_pass
from pytest_pario.baseline.store import Acceptance, Store, choose_machine, merge_entries, seal
from pytest_pario.errors import ParameterError
from pytest_pario.model import Pattern
from pytest_pario.patterns import Segmented
from pytest_pario.plain import plain
from pytest_pario.units import MiB
from tests.unit.baseline.nights import content, entry, save_nights


def _save_many(root: Path, name: str, count: int) -> None:
    store = Store(root, "box")
    for number in range(count):
        store.save_night(content([entry(f"{name}{number}", [100.0])]))


def test_two_jobs_at_once_lose_nothing(tmp_path: Path) -> None:
    jobs = [multiprocessing.Process(target=_save_many, args=(tmp_path, name, 50)) for name in "ab"]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(60)
    shelf = Store(tmp_path, "box").read()
    names = {sample.series.short for night in shelf.nights for sample in night.samples}
    assert names == {f"{name}{number}/read" for name in "ab" for number in range(50)}
    assert shelf.refused == ()
    assert [path.name for path in (tmp_path / "box").iterdir() if path.suffix != ".json"] == []


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


def _edit(path: Path) -> None:
    path.write_text(path.read_text().replace('"ranks": 4', '"ranks": 8'))


def _unseal(path: Path) -> None:
    night = json.loads(path.read_text())
    del night["pario"]["digest"]
    path.write_text(json.dumps(night))


def _foreign(path: Path) -> None:
    path.write_text(json.dumps({"benchmarks": [], "machine_info": {}}))


def _future(path: Path) -> None:
    night = json.loads(path.read_text())
    night["pario"]["schema"] = 2
    path.write_text(json.dumps(night))


def _other_machine(path: Path) -> None:
    night = json.loads(path.read_text())
    night["pario"]["machine"] = "elsewhere"
    path.write_bytes(seal(json.dumps(night).encode()))


def _senseless(path: Path) -> None:
    night = json.loads(path.read_text())
    night["benchmarks"] = 7
    path.write_bytes(seal(json.dumps(night).encode()))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (_truncate, "truncated or not JSON"),
        (_edit, "was changed after it was saved"),
        (_unseal, "was changed after it was saved"),
        (_foreign, "was not saved by pario"),
        (_future, "has schema 2, this release reads 1"),
        (_other_machine, "belongs to machine 'elsewhere', not to 'box'"),
        (_senseless, "not a night of this store"),
    ],
)
def test_a_bad_file_is_named_and_the_rest_is_read(tmp_path: Path, harm: Any, message: str) -> None:
    store = save_nights(tmp_path, 4)
    victim = sorted((tmp_path / "box").glob("*.json"))[1]
    harm(victim)
    shelf = store.read()
    assert len(shelf.nights) == 3
    assert len(shelf.refused) == 1
    assert shelf.refused[0].startswith(f"{victim}: ")
    assert message in shelf.refused[0]


def test_nights_come_in_order_of_time_and_acceptances_are_kept(tmp_path: Path) -> None:
    store = save_nights(tmp_path, 3)
    store.save_acceptance(Acceptance("p0", "2026-01-02", "new disks"))
    shelf = store.read()
    assert [night.date for night in shelf.nights] == ["2026-01-01", "2026-01-02", "2026-01-03"]
    assert [one.reason for one in shelf.acceptances] == ["new disks"]
    with pytest.raises(ParameterError, match="a text that says why"):
        Acceptance("p0", "2026-01-02", " ")


def test_the_machine_is_the_operators_word(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="letters, digits"):
        Store(tmp_path, "../escape")
    with pytest.raises(ParameterError, match="none yet"):
        choose_machine(tmp_path, None)
    save_nights(tmp_path, 1)
    assert choose_machine(tmp_path, None) == "box"
    save_nights(tmp_path, 1, machine="other")
    with pytest.raises(ParameterError, match="box, other"):
        choose_machine(tmp_path, None)


def test_unlike_things_are_never_one_series() -> None:
    """CONS-49, BEFF-67: cached and sustained, definitions, ranks, sizes, directions."""
    base = entry("p", [100.0])
    kinds: list[dict[str, Any]] = [
        base,
        entry("p", [100.0], phase="write"),
        entry("p", [100.0], filesystem_type="gpfs"),
    ]
    cached, defined, wider = entry("p", [100.0]), entry("p", [100.0]), entry("p", [100.0])
    cached["extra_info"]["record"]["facts"]["cache"]["state"] = "cached"
    defined["extra_info"]["definition"] = "2.1"
    wider["extra_info"]["ranks"] = 8
    found = [read_entry(one) for one in [*kinds, cached, defined, wider, entry("p", [100.0], ranks_per_node=4)]]
    assert len({one.series for one in found if one}) == 7
    # the fingerprint annotates and never splits
    same = read_entry(entry("p", [100.0], kernel="6.9", mpi_library="other", mount_options=["noatime"]))
    assert same is not None
    assert same.series == found[0].series if found[0] else False


def test_bytes_that_a_given_time_allowed_do_not_tell_series_apart() -> None:  # BEFF-24
    nights = []
    for moved in (64, 65):
        one = entry("p", [100.0])
        one["extra_info"] |= {"moved_bytes": [moved * MiB], "schedule": "T=60 s on 4"}
        nights.append(read_entry(one))
    first, second = nights
    assert first is not None
    assert second is not None
    assert first.series == second.series
    assert "by time" in str(first.series)
    assert second.rates == pytest.approx([65 / 64 * 100])
    longer = entry("p", [100.0])
    longer["extra_info"]["schedule"] = "T=120 s on 4"
    other = read_entry(longer)
    assert other is not None
    assert other.series != first.series
    timed = entry("p", [100.0])
    timed["extra_info"]["record"]["pattern"]["repeat"] = {"name": "timed", "seconds": 3.0}
    found = read_entry(timed)
    assert found is not None
    assert found.series.moved_bytes == 0


def test_a_value_without_a_record_has_its_own_phase_and_fingerprint() -> None:  # BEFF-29
    one = entry("p", [100.0])
    info = one["extra_info"]
    record = info.pop("record")
    sample = read_entry({**one, "extra_info": {**info, "phase": "read", "fingerprint": record["fingerprint"]}})
    assert sample is not None
    assert (sample.series.phase, sample.series.filesystem) == ("read", "lustre:/scratch")
    assert sample.facts["kernel"] == "6.1"


def test_a_series_names_a_pattern_as_the_model_does() -> None:
    pattern = Pattern("p", Segmented(4096, (1024,), count=4))
    one = entry("p", [100.0])
    one["extra_info"]["record"]["pattern"] = plain(pattern)
    sample = read_entry(one)
    assert sample is not None
    assert sample.series.pattern == pattern.id


def test_no_bytes_are_no_rate() -> None:
    one = entry("p", [100.0])
    one["extra_info"]["moved_bytes"] = [0]
    sample = read_entry(one)
    assert sample is not None
    assert sample.damaged == "no bytes were moved"
    assert read_entry({**one, "extra_info": {}}) is None


@pytest.mark.parametrize(
    ("name", "stripped"),
    [
        ("t.py::a[pario_pass2]", "t.py::a"),
        ("t.py::a[x-pario_pass2]", "t.py::a[x]"),
        ("t.py::a[pario_pass1-x]", "t.py::a[x]"),
        ("t.py::a[x-pario_pass1-y]", "t.py::a[x-y]"),
        ("t.py::a[x-pass1]", "t.py::a[x-pass1]"),  # an id of the suite's own
        ("t::b", "t::b"),
    ],
)
def test_passes_of_a_test_have_one_name(name: str, stripped: str) -> None:
    assert strip_pass(name) == stripped


def test_runs_made_in_another_manner_are_another_series() -> None:
    rows = [entry("p", [100.0]) for _ in range(6)]
    facts: tuple[dict[str, Any], ...] = (
        {},
        {"strategy": "row"},
        {"strategy": "two_phase"},
        {"direct": True},
        {"intra_barriers": True},
        {"call_barriers": True},
    )
    for row, more in zip(rows, facts, strict=True):
        row["extra_info"]["record"]["facts"] |= more
    series = [sample.series for row in rows if (sample := read_entry(row)) is not None]
    assert series[0] == series[1]
    assert len(set(series)) == 5
    assert series[2].kind == "uncached, two_phase"


def test_warm_ups_of_every_pass_are_kept() -> None:
    both = [entry("p", [100.0]) for _ in range(2)]
    for number, one in enumerate(both, 1):
        one["fullname"] = f"t::a[pario_pass{number}]"
        one["extra_info"]["record"]["facts"]["warmup_s"] = [float(number)]
        one["extra_info"]["warmup_seconds"] = [10.0 * number]
    (merged,) = merge_entries(both)
    assert merged["extra_info"]["record"]["facts"]["warmup_s"] == [1.0, 2.0]
    assert merged["extra_info"]["warmup_seconds"] == [10.0, 20.0]


def test_passes_are_merged_and_repeated_measurements_stand_beside() -> None:
    first, second, again = (entry("p", [100.0 * k, 100.0 * k]) for k in (1, 2, 3))
    first["fullname"], second["fullname"], again["fullname"] = (f"t::a[pario_pass{k}]" for k in (1, 2, 2))
    again["extra_info"]["again"] = True
    (merged,) = merge_entries([first, second, again])
    sample = read_entry(merged)
    assert sample is not None
    assert sample.rates == pytest.approx([100, 100, 200, 200])
    assert sample.again == pytest.approx([300, 300])
    assert merged["stats"]["rounds"] == 4
