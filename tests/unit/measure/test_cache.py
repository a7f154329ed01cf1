"""CONS-42, CONS-48: what is known of the caches before a read, and what a state may be called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_pario.errors import CacheStateError, ParameterError
from pytest_pario.measure.cache import CacheState, FlushRule, classify, evict, flush_caches, resident_limit
from pytest_pario.measure.residency import resident_fraction


class Alone:
    rank, size = 0, 1

    def Barrier(self) -> None:  # noqa: N802 - MPI's name
        pass

    def allgather(self, value: object) -> list[object]:
        return [value]

    def bcast(self, value: object, root: int = 0) -> object:
        return value


@pytest.mark.parametrize(
    ("resident", "fstype", "flushed", "state"),
    [
        (0.0, "ext4", False, "cold"),
        (0.0, "lustre", False, "client-cold"),
        (0.0, "lustre", True, "cold"),
        (0.5, "ext4", False, "cached"),
        (0.5, "lustre", True, "cached"),
        (None, "ext4", False, "unknown"),
        (0.0, "tmpfs", True, "cached"),
        # a cache beside the page cache: no page is no proof (residency was 0 where GlusterFS read from its own)
        *((0.0, kind, False, "unknown") for kind in ("gpfs", "zfs", "fuse.glusterfs", "fuse.sshfs", "fuse")),
        (0.0, "gpfs", True, "cold"),
        (0.5, "gpfs", False, "cached"),
    ],
)
def test_a_state_is_only_what_was_shown(resident: float | None, fstype: str, flushed: bool, state: str) -> None:
    assert classify(resident, fstype, flushed) == state


@pytest.mark.parametrize(
    ("size", "resident", "state"),
    [
        (1 << 20, 0.009, "cold"),  # some pages of a small file
        (1 << 40, 0.009, "cached"),  # 9 GiB of 1 TiB are data
        (1 << 40, (4 << 20) / (1 << 40), "cold"),
        (0, 0.0, "cold"),
    ],
)
def test_a_small_part_of_a_large_file_is_not_cold(size: int, resident: float, state: str) -> None:
    assert classify(resident, "ext4", server_flushed=False, limit=resident_limit(size)) == state


def flush(path: Path, fstype: str = "ext4", **rule: Any) -> CacheState:
    return flush_caches(Alone(), [path], fstype, FlushRule(**rule))  # type: ignore[arg-type]


def test_eviction_is_proved(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(1 << 20))
    evict(path)
    if resident_fraction(path).fraction != 0:
        pytest.skip("the temporary directory is on a filesystem that keeps its pages")
    path.read_bytes()
    assert resident_fraction(path).fraction == 1.0
    state = flush(path)
    assert (state.state, state.resident) == ("cold", 0.0)
    assert any("shown by" in method for method in state.methods)


def test_cold_may_be_required(tmp_path: Path) -> None:  # ERR-10
    path = tmp_path / "data"
    path.write_bytes(b"x")
    with pytest.raises(CacheStateError, match="tmpfs lives in memory"):
        flush(path, "tmpfs", require_cold=True)
    assert flush(path, "tmpfs").state == "cached"


@pytest.mark.parametrize(("command", "message"), [("false", "ended with 1"), ("no-such-program-here", "can be run")])
def test_a_site_command_that_fails_is_an_error(command: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"x")
    with pytest.raises(ParameterError, match=message):
        flush(path, command=command)
    assert "site command" in flush(path, command="true").methods
