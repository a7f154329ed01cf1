"""The programs of the study as rows: where their bytes lie."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pytest_pario import mpi
from pytest_pario.access.batch import needs_view
from pytest_pario.errors import ParameterError
from pytest_pario.patterns import plan
from pytest_pario.patterns.check import file_size, is_tiling, total_bytes
from pytest_pario.units import GiB, KiB, MiB
from pytest_pario.workloads.resonance import room
from pytest_pario.workloads.resonance.programs import (
    VARIANTS,
    coll_perf,
    demonstration,
    hpio,
    ior,
    mpi_io_test,
    noncontig,
)
from pytest_pario.workloads.resonance.room import lack_of_room
from pytest_pario.workloads.resonance.rows import SCALES, demo_row, rows, scaling_row, shared_patterns


def test_demonstration() -> None:  # RES-04, RES-05
    together, apart = demonstration(64 * KiB, 2), demonstration(64 * KiB, 2, coll=False)
    one = plan(together, 4).ranks[1]
    # a call covers 4*N segments, process i reads k*N + i of them
    assert one.offsets[:4].tolist() == [(k * 4 + 1) * 64 * KiB for k in range(4)]
    assert (one.call_count, plan(apart, 4).ranks[1].call_count) == (2, 8)
    assert one.offsets.tolist() == plan(apart, 4).ranks[1].offsets.tolist()
    assert (together.coll, apart.coll) == (True, False)


def test_processes_by_themselves_make_contiguous_calls() -> None:  # RES-05, RES-41
    row = demo_row(4096, 2)
    assert row.under("native") is row.under("two_phase") is row.pattern
    apart = row.under("independent")
    assert (apart.name, apart.coll) == (row.pattern.name, False)
    for rank in range(4):
        one, other = plan(apart, 4).ranks[rank], plan(row.pattern, 4).ranks[rank]
        assert np.diff(one.bounds).tolist() == [1] * 8
        assert not needs_view(apart, one)
        assert one.offsets.tolist() == other.offsets.tolist()
    assert plan(apart, 4).ranks[0].call_bytes.tolist() == [4096] * 8


def test_mpi_io_test_and_ior() -> None:  # RES-32, RES-33
    assert plan(mpi_io_test(1000, 3), 4).ranks[2].offsets.tolist() == [(c * 4 + 2) * 1000 for c in range(3)]
    assert plan(ior(1000, 3), 4).ranks[2].offsets.tolist() == [2 * 3000 + c * 1000 for c in range(3)]


def test_coll_perf() -> None:  # RES-30, RES-31: blocks of ceil(g/p), last ones short or empty, one tiling of the cube
    for n in (1, 2, 3, 4, 5, 8):
        made = plan(coll_perf(7), n)
        assert is_tiling(made.ranks)
        assert file_size(made.ranks) == 4 * 7**3


@pytest.mark.parametrize("variant", VARIANTS)
def test_noncontig(variant: str) -> None:  # RES-34, RES-35: 16 MiB per call in total
    row = noncontig(4096, 16 * MiB, 1, 4, variant)
    made = plan(row, 4)
    assert total_bytes(made.ranks) == 16 * MiB
    assert is_tiling(made.ranks)
    file_contiguous = len(made.ranks[0].offsets) == 1
    assert (f"{'nc' if row.mem.gap else 'c'}-{'c' if file_contiguous else 'nc'}") == variant
    if not file_contiguous:
        assert made.ranks[3].offsets[1] - made.ranks[3].offsets[0] == 4 * 16 * KiB


@pytest.mark.parametrize("variant", VARIANTS)
def test_hpio(variant: str) -> None:  # RES-36, RES-37
    n, size, count, spacing = 4, 1000, 8, 24
    row = hpio(size, count, spacing, variant)
    made = plan(row, n)
    memory, _, file = variant.partition("-")
    assert (row.mem.gap > 0) == (memory == "nc")
    if file == "nc":
        assert made.ranks[2].offsets.tolist() == [(q * n + 2) * (size + spacing) for q in range(count)]
        assert file_size(made.ranks) == n * count * (size + spacing) - spacing
    else:
        assert made.ranks[2].offsets.tolist() == [2 * count * size]
    assert hpio(size, count, 0, "nc-nc").mem.gap == 0


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("profile", SCALES)
def test_an_axis_moves_the_same_bytes(profile: str, ranks: int) -> None:  # RES-04, RES-32, RES-33, RES-34
    moved: dict[str, set[int]] = {}
    for row in rows(profile, ranks):
        program = row.pattern.name.partition("-")[0]
        for strategy in ("native", "independent"):
            table = plan(row.under(strategy), ranks).ranks[0]
            if program != "coll_perf" and program != "hpio":
                moved.setdefault(program, set()).add(table.total_bytes * ranks)
    assert {program: len(sizes) for program, sizes in moved.items()} == dict.fromkeys(moved, 1)
    if profile == "full" and ranks in (1, 2, 4):
        assert moved == {"demo": {10 * GiB}, "mpi": {10 * GiB}, "ior": {1 * GiB}, "noncontig": {10 * GiB}}
    # RES-40; each process makes one call at least
    assert scaling_bytes(profile, ranks) <= max(SCALES[profile].scaling_bytes, ranks * MiB)


def scaling_bytes(profile: str, ranks: int) -> int:
    return plan(scaling_row(profile, ranks).pattern, ranks).ranks[0].total_bytes * ranks


def test_full_is_what_was_published() -> None:
    full = SCALES["full"]
    assert full.segments == tuple(KiB << power for power in range(5, 11))  # RES-04
    assert full.edges == (64, 128, 256, 512, 1024)  # RES-30
    assert (full.elements, full.buffer_bytes) == ((4096, 8192, 16384, 32768, 65536), 16 * MiB)  # RES-34
    assert (full.region_sizes, full.regions) == (tuple(KiB << power for power in range(1, 7)), 4096)  # RES-36
    assert 0 in full.spacings
    assert scaling_bytes("full", 64) == scaling_bytes("full", 1) == 10 * GiB  # RES-40
    first, other = shared_patterns("full", (4, 4))  # RES-38
    assert (first.name, other.name) == ("demo-64KiB", "mpi-io-test-64KiB")
    assert [plan(one, 4).ranks[0].total_bytes * 4 for one in (first, other)] == [10 * GiB] * 2


def test_what_does_not_fit_is_told_with_both_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # GEN-16
    if mpi.unavailable_reason():
        pytest.skip(str(mpi.unavailable_reason()))
    comm, row = mpi.load().COMM_SELF, coll_perf(64)
    assert lack_of_room(comm, tmp_path, [(row, 1)], "read", MiB) == ""
    short = lack_of_room(comm, tmp_path, [(row, 1)], "read", MiB // 2)
    assert short == "coll_perf-64 needs 1 MiB of memory on each rank, 512 KiB are allowed (--pario-memory)"
    monkeypatch.setattr(room, "memory_available", lambda _: 1000)
    assert "coll_perf-64 needs 1" in (text := lack_of_room(comm, tmp_path, [(row, 1)], "read", MiB))
    assert "of memory on a node, 1000 B are free there" in text
    huge = mpi_io_test(GiB, 1 << 16)
    text = lack_of_room(comm, tmp_path, [(row, 1), (huge, 1)], "write", 1 << 60)
    assert text.startswith(f"coll_perf-64 and mpi-io-test-1GiB needs 67.2 TiB in {tmp_path}")


def test_profiles() -> None:
    for profile in SCALES:
        found = [row.pattern for row in rows(profile, 4)]
        assert len({row.name for row in found}) == len(found)
        kinds = {row.name.split("-")[0] for row in found}
        assert kinds == {"demo", "coll_perf", "mpi", "ior", "noncontig", "hpio"}
    assert sum(total_bytes(plan(row.pattern, 4).ranks) for row in rows("quick", 4)) < 32 * MiB
    with pytest.raises(ParameterError, match="variant = 'x-c'"):
        hpio(1, 1, 1, "x-c")
