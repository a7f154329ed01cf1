from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from pytest_pario.environment import capabilities
from pytest_pario.environment.capabilities import PROBES, Capability, probe_all, probe_file
from pytest_pario.environment.context import Context
from pytest_pario.environment.direct_io import alignment_by_statx, direct_io
from pytest_pario.environment.mount import Mount, type_of
from pytest_pario.measure.residency import resident_fraction

MEMORY = Path("/dev/shm")


def by_name(directory: Path) -> dict[str, Capability]:
    return {found.name: found for found in probe_all(directory)}


def test_every_probe_reports_once_and_leaves_nothing(tmp_path: Path) -> None:
    found = probe_all(tmp_path)
    assert [capability.name for capability in found] == ["create", *PROBES]
    assert all(capability.state in ("yes", "no", "unknown") and capability.detail for capability in found)
    assert list(tmp_path.iterdir()) == []


def test_a_local_disk_can_do_everything(tmp_path: Path) -> None:
    if type_of(Context(tmp_path)) not in ("ext4", "xfs"):
        pytest.skip("the temporary directory is not on ext4 or XFS")
    found = by_name(tmp_path)
    for name in ("create", "fsync", "evict", "direct", "fallocate", "locks", "clock"):
        assert found[name].state == "yes", found[name]


def test_memory_cannot_be_evicted() -> None:
    if not os.access(MEMORY, os.W_OK) or type_of(Context(MEMORY)) != "tmpfs":
        pytest.skip("no tmpfs at /dev/shm")
    found = by_name(MEMORY)
    assert (found["evict"].state, found["direct"].state) == ("no", "no")
    assert "tmpfs" in found["evict"].detail
    assert found["evict"].cure


def test_a_directory_that_is_missing(tmp_path: Path) -> None:
    found = by_name(tmp_path / "missing")
    assert (found["create"].state, found["create"].cure) == ("no", "create the directory")
    assert (found["locks"].state, found["locks"].detail) == ("unknown", "no file can be created here")
    assert found["clock"].state == "yes"


def test_the_file_goes_whatever_happens(tmp_path: Path) -> None:
    def fails() -> None:
        with probe_file(tmp_path) as path:
            assert path.stat().st_size == capabilities.PROBE_BYTES
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert list(tmp_path.iterdir()) == []


def test_the_file_goes_when_it_cannot_be_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    found = by_name(tmp_path)["create"]
    assert (found.state, found.detail, found.cure) == ("no", "No space left on device", "free some space")
    assert list(tmp_path.iterdir()) == []


def test_a_probe_that_breaks_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(directory: Path) -> Capability:
        raise RuntimeError("odd")

    monkeypatch.setitem(PROBES, "fsync", breaks)
    found = by_name(tmp_path)
    assert (found["fsync"].state, found["fsync"].detail) == ("unknown", "RuntimeError: odd")
    assert found["clock"].state == "yes"


@pytest.mark.parametrize("option", ["localflock", "nolock", "local_lock=all"])
def test_locks_of_one_node_are_not_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    mount = Mount(1, "0:1", "/", "/", ("rw",), "lustre", "x", ("rw", option))
    monkeypatch.setattr(capabilities, "mount_of", lambda context: mount)
    found = by_name(tmp_path)["locks"]
    assert (found.state, found.detail) == ("no", f"locks hold on this node only ({option})")


def test_locks_that_do_not_keep_others_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "lockf", lambda fd, how: None)
    assert by_name(tmp_path)["locks"].detail == "a lock does not keep another process out"


def test_caches_are_not_dropped_by_asking(tmp_path: Path) -> None:
    warm = tmp_path / "warm"
    warm.write_bytes(bytes(1 << 20))
    before = resident_fraction(warm)
    probe_all(tmp_path)
    assert resident_fraction(warm).fraction == before.fraction


def test_direct_io_keeps_to_its_alignment(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(1 << 16))
    found = direct_io(str(path))
    told = alignment_by_statx(str(path))
    if told:
        assert found.works == (told[1] > 0)
    if found.works and found.source == "statx":
        assert (found.memory_align, found.offset_align) == told


def test_direct_io_without_statx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(1 << 16))
    monkeypatch.setattr("pytest_pario.environment.direct_io.alignment_by_statx", lambda path: None)
    found = direct_io(str(path))
    assert found.source == "trial"
    assert found.offset_align in (0, 512, 4096)


def test_a_filesystem_that_says_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_pario.environment.direct_io.alignment_by_statx", lambda path: (0, 0))
    assert not direct_io(str(tmp_path / "data")).works


def test_a_file_that_is_missing_has_no_alignment(tmp_path: Path) -> None:
    assert alignment_by_statx(str(tmp_path / "missing")) is None
