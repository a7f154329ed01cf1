from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_pario.measure.residency import Method, resident_fraction, spread
from pytest_pario.units import MiB

METHODS: list[Method] = ["cachestat", "mincore", "nowait"]
MEMORY = Path("/dev/shm")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.write_bytes(os.urandom(4 * MiB))
    return path


def sync(path: Path) -> None:
    fd = os.open(path, os.O_RDWR)
    os.fsync(fd)
    os.close(fd)


def evict(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def need(path: Path, method: Method) -> None:
    if resident_fraction(path, [method]).method == "none":
        pytest.skip(f"{method} does not work on the filesystem of {path.parent}")


@pytest.mark.parametrize("method", METHODS)
def test_warm_then_cold_then_warm(file: Path, method: Method) -> None:
    need(file, method)
    assert resident_fraction(file, [method]).fraction == 1.0
    sync(file)
    evict(file)
    cold = resident_fraction(file, [method])
    if cold.fraction == 1.0:
        pytest.skip(f"the filesystem of {file.parent} keeps its pages")
    assert cold.method == method
    assert cold.fraction is not None
    # RWF_NOWAIT gives an upper bound: on a loaded machine the read it starts may be back before it is refused
    assert cold.fraction <= (0.1 if method == "nowait" else 0.0)
    file.read_bytes()
    assert resident_fraction(file, [method]).fraction == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_measuring_does_not_warm(file: Path, method: Method) -> None:
    need(file, method)
    sync(file)
    evict(file)
    before = resident_fraction(file).fraction
    resident_fraction(file, [method])
    after = resident_fraction(file).fraction
    assert before is not None
    assert after is not None
    # RWF_NOWAIT may bring in the very pages that it asks for, nothing around them
    assert after - before <= (0.3 if method == "nowait" else 0.0)


def test_dirty_pages_stay(file: Path) -> None:
    need(file, "cachestat")
    evict(file)
    found = resident_fraction(file)
    if not found.dirty:
        pytest.skip("the kernel had already written the pages back")
    assert found.fraction is not None
    assert found.fraction >= found.dirty > 0
    sync(file)
    assert resident_fraction(file).dirty == 0.0


def test_half_a_file(file: Path) -> None:
    need(file, "cachestat")
    sync(file)
    evict(file)
    with file.open("rb", buffering=0) as handle:
        os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        handle.read(2 * MiB)
    for method in ("cachestat", "mincore"):
        assert resident_fraction(file, [method]).fraction == pytest.approx(0.5, abs=0.05)


@pytest.fixture
def in_memory() -> Iterator[Path]:
    if not os.access(MEMORY, os.W_OK):
        pytest.skip("no tmpfs at /dev/shm")
    with tempfile.NamedTemporaryFile(dir=MEMORY) as handle:
        handle.write(bytes(MiB))
        handle.flush()
        yield Path(handle.name)


@pytest.mark.parametrize("method", ["cachestat", "mincore"])
def test_tmpfs_keeps_everything(in_memory: Path, method: Method) -> None:
    need(in_memory, method)
    sync(in_memory)
    evict(in_memory)
    assert resident_fraction(in_memory, [method]).fraction == 1.0


def test_a_large_sparse_file_is_cheap(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as handle:
        handle.truncate(1 << 38)
    # holes answer RWF_NOWAIT at once: no I/O is needed for them
    for method in ("cachestat", "mincore"):
        assert resident_fraction(path, [method]).fraction in (0.0, None)
    assert resident_fraction(path, ["nowait"]).fraction in (1.0, None)


OVERLAY = """
mkdir low up work merged && mount -t overlay o -o lowerdir=low,upperdir=up,workdir=work merged || exit 77
head -c 1048576 /dev/urandom > merged/data && sync merged/data && cat merged/data > /dev/null
exec "$0" -c "$1"
"""
SHOW = "from pytest_pario.measure.residency import resident_fraction as r; print(r('merged/data').fraction)"


@pytest.mark.rootonly
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root and unshare for a mount")
def test_pages_below_an_overlay_are_seen(tmp_path: Path) -> None:
    # cachestat finds no page in the overlay itself, although a read never reaches the device
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", OVERLAY, sys.executable, SHOW]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip(f"no overlay here: {done.stderr.strip()}")
    assert done.stdout == "1.0\n", done.stderr


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    assert resident_fraction(path).fraction == 0.0


def test_unknown_is_not_zero(file: Path) -> None:
    found = resident_fraction(file, [])
    assert (found.fraction, found.dirty, found.method) == (None, None, "none")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        resident_fraction(tmp_path / "missing")


def test_sample_has_both_ends_and_no_more_than_asked() -> None:
    assert list(spread(10, 4, 64)) == [0, 4, 8]
    assert list(spread(1000, 10, 4)) == [0, 330, 660, 990]
    assert list(spread(5, 10, 4)) == [0]
    assert list(spread(100, 10, 1)) == [0]
