from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import importlib
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pytest_pario.access.calls import find_call
from pytest_pario.access.loops import LOOPS, Engine, Loop, Member, Series, choose_loop, find_loop, posix_series
from pytest_pario.access.loops import compiling as cache
from pytest_pario.access.loops.compiling import numba_missing_reason
from pytest_pario.access.loops.protocol import Integers
from pytest_pario.access.loops.python import PythonMember
from pytest_pario.access.loops.selftest import failed_reason
from pytest_pario.errors import ParameterError, UnknownParameterError

WRITE, READ = find_call("write_at"), find_call("read_at")
Bytes = npt.NDArray[np.uint8]


@pytest.fixture
def needs_numba() -> None:
    reason = numba_missing_reason()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(params=["python", "compiled"])
def member(request: pytest.FixtureRequest) -> Member:
    found = find_loop(request.param)
    reason = found.unavailable_reason("posix")
    if reason is not None:
        pytest.skip(reason)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "data", os.O_CREAT | os.O_RDWR)
    yield descriptor
    os.close(descriptor)


@contextlib.contextmanager
def file_limit(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes; not a fixture, for pytest's own output may go to a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def random_bytes(count: int) -> Bytes:
    return np.random.default_rng(count).integers(0, 256, count, dtype=np.uint8)


def ones(file: int, calls: int, size: int = 100) -> Any:
    return posix_series(
        file, WRITE, np.ones(size, np.uint8), [0] * calls, [size] * calls, offsets=np.arange(calls) * size
    )


# What the calls do.


def test_pieces_in_any_order(member: Member, file: int) -> None:
    """Sizes, places in memory and places in the file are those asked for, also for calls that move nothing."""
    rng = np.random.default_rng(7)
    sizes = rng.integers(0, 300, 200)
    offsets = rng.permutation(np.arange(200)) * 300
    written = random_bytes(60_000)
    starts = rng.integers(0, written.size - 300, 200)
    out = Loop(posix_series(file, WRITE, written, starts, sizes, offsets=offsets), member)
    assert out.run() == 200
    assert out.moved_bytes.tolist() == sizes.tolist()

    wanted = np.zeros(int((offsets + sizes)[sizes > 0].max()), np.uint8)
    for start, size, offset in zip(starts, sizes, offsets, strict=True):
        wanted[offset : offset + size] = written[start : start + size]
    assert os.pread(file, 1 << 20, 0) == wanted.tobytes()

    memory = np.zeros(60_000, np.uint8)
    back = Loop(posix_series(file, READ, memory, offsets, sizes, offsets=offsets), member)
    back.run()
    assert back.moved_bytes.tolist() == sizes.tolist()
    assert memory[: wanted.size].tobytes() == wanted.tobytes()
    assert out.errors == back.errors == []
    assert (out.name, out.times) == (member.name, None)


def test_no_calls_at_all(member: Member, file: int) -> None:
    loop = Loop(ones(file, 0), member, timed=True)
    assert (loop.run(), loop.moved_bytes.tolist(), len(loop)) == (0, [], 0)


def test_reading_past_the_end_is_short(member: Member, file: int) -> None:
    os.pwrite(file, b"x" * 150, 0)
    loop = Loop(
        posix_series(file, READ, np.zeros(300, np.uint8), [0, 100, 200], [100] * 3, offsets=[0, 100, 200]), member
    )
    loop.run()
    assert (loop.moved_bytes.tolist(), loop.errors) == ([100, 50, 0], [])


def test_a_short_write_is_continued_and_its_error_kept(member: Member, file: int) -> None:
    """The kernel writes 50 of 100 bytes and refuses the rest; later calls are made all the same."""
    series = posix_series(file, WRITE, np.ones(100, np.uint8), [0] * 4, [100] * 4, offsets=[0, 950, 2000, 100])
    seen: list[tuple[int, int]] = []
    loop = Loop(series, member, on_error=lambda call, code: seen.append((call, code)))
    with file_limit(1000):
        reached = loop.run()
    assert reached == 4
    assert loop.moved_bytes.tolist() == [100, 50, 0, 100]
    assert loop.errors == seen == [(1, errno.EFBIG), (2, errno.EFBIG)]


def test_more_than_linux_moves_at_once(member: Member) -> None:
    """A call moves 0x7ffff000 bytes at most; the device takes them without looking."""
    length = (1 << 31) + 4097
    with Path(os.devnull).open("wb") as device:
        memory = np.zeros(length, np.uint8)
        loop = Loop(posix_series(device.fileno(), WRITE, memory, [0, 1], [length, length - 1], offsets=[0, 5]), member)
        loop.run()
    assert (loop.moved_bytes.tolist(), loop.errors) == ([length, length - 1], [])


def test_errors_of_every_call(member: Member, tmp_path: Path) -> None:
    with (tmp_path / "data").open("wb") as other:
        series = posix_series(other.fileno(), READ, np.zeros(8, np.uint8), [0] * 3, [8] * 3, offsets=[0, 8, 16])
        loop = Loop(series, member)
        assert loop.run() == 3
    assert (loop.errors, loop.moved_bytes.sum()) == ([(call, errno.EBADF) for call in range(3)], 0)


def test_errors_are_those_of_the_last_time(member: Member, file: int) -> None:
    loop = Loop(ones(file, 12), member)
    with file_limit(1000):
        loop.run()
    assert [call for call, _ in loop.errors] == [10, 11]
    with file_limit(1100):
        loop.run(10)
    assert [call for call, _ in loop.errors] == [11]
    assert loop.moved_bytes.tolist() == [100] * 11 + [0]


# Parts, times and deadlines.


def test_parts_add_up(member: Member, file: int) -> None:
    loop = Loop(ones(file, 10), member, timed=True)
    assert loop.run(2, 5) == 5
    assert loop.moved_bytes.tolist() == [0, 0, 100, 100, 100, 0, 0, 0, 0, 0]
    assert (loop.run(5), loop.run(0, 2)) == (10, 2)
    assert loop.moved_bytes.tolist() == [100] * 10
    assert loop.times is not None
    assert (loop.times > 0).all()


def test_times_of_calls(member: Member, file: int) -> None:
    loop = Loop(ones(file, 50), member, timed=True)
    before = time.monotonic_ns()
    loop.run()
    after = time.monotonic_ns()
    assert loop.times is not None
    stamps = [before, *loop.times.reshape(-1).tolist(), after]
    assert stamps == sorted(stamps)


@pytest.mark.parametrize("timed", [False, True])
def test_deadline(member: Member, timed: bool, file: int) -> None:
    """No call begins after it; what was not made counts for nothing, and can be made later."""
    calls = 200_000
    series = posix_series(file, WRITE, np.ones(4096, np.uint8), [0] * calls, [4096] * calls, offsets=[0] * calls)
    loop = Loop(series, member, timed=timed)
    assert loop.run(deadline_ns=time.monotonic_ns() - 1) == 0
    limit = time.monotonic_ns() + 10_000_000
    reached = loop.run(deadline_ns=limit)
    assert 0 < reached < calls
    assert loop.moved_bytes.sum() == 4096 * reached
    assert loop.run(reached, reached + 3) == reached + 3
    assert loop.moved_bytes.sum() == 4096 * (reached + 3)
    if loop.times is not None:
        assert (loop.times[:reached, 0] < limit).all()
        assert loop.times[: reached + 3].all()
        assert not loop.times[reached + 3 :].any()


def test_a_deadline_may_be_far(member: Member, file: int) -> None:
    assert Loop(ones(file, 3), member).run(deadline_ns=1 << 80) == 3


# What is refused before any call.

# fmt: off
#    parameter     buffer                        starts      sizes        offsets
BAD = [
    ("buffer",     bytearray(8),                 [0],        [8],         [0]),
    ("buffer",     np.zeros(8, np.int32),        [0],        [8],         [0]),
    ("buffer",     np.zeros((2, 4), np.uint8),   [0],        [8],         [0]),
    ("buffer",     np.zeros(16, np.uint8)[::2],  [0],        [8],         [0]),
    ("starts",     np.zeros(8, np.uint8),        [0, 1],     [8, 8],      [0, 8]),
    ("starts",     np.zeros(8, np.uint8),        [9],        [0],         [0]),
    ("starts",     np.zeros(8, np.uint8),        [-1],       [4],         [0]),
    ("starts",     np.zeros(8, np.uint8),        [4],        [2**63 - 1], [0]),
    ("starts",     np.zeros(8, np.uint8),        [0.5],      [4],         [0]),
    ("starts",     np.zeros(8, np.uint8),        [[0]],      [4],         [0]),
    ("sizes",      np.zeros(8, np.uint8),        [0],        [-4],        [0]),
    ("sizes",      np.zeros(8, np.uint8),        [0],        [4, 4],      [0]),
    ("sizes",      np.zeros(8, np.uint8),        [0],        [2**63],     [0]),
    ("offsets",    np.zeros(8, np.uint8),        [0],        [4],         [0, 4]),
    ("offsets",    np.zeros(8, np.uint8),        [0],        [4],         [-4]),
    ("offsets",    np.zeros(8, np.uint8),        [0],        [4],         [2**63 - 4]),
    ("offsets",    np.zeros(8, np.uint8),        [0],        [4],         None),
]
# fmt: on


@pytest.mark.parametrize(("name", "buffer", "starts", "sizes", "offsets"), BAD)
def test_refused_before_any_call(name: str, buffer: Any, starts: Any, sizes: Any, offsets: Any) -> None:
    with pytest.raises(ParameterError) as refusal:
        posix_series(0, WRITE, buffer, starts, sizes, offsets=offsets)
    assert refusal.value.name == name


def test_a_read_needs_memory_that_it_may_write_to() -> None:
    memory = np.zeros(8, np.uint8)
    memory.flags.writeable = False
    posix_series(0, WRITE, memory, [0], [8], offsets=[0])
    with pytest.raises(ParameterError, match="writable"):
        posix_series(0, READ, memory, [0], [8], offsets=[0])


@pytest.mark.parametrize("name", ["write", "write_at_all", "read_shared"])
def test_posix_has_explicit_calls_only(name: str) -> None:
    with pytest.raises(ParameterError, match="write_at or read_at"):
        posix_series(0, find_call(name), np.zeros(8, np.uint8), [0], [8], offsets=[0])


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (2, 1), (0, 4), (4, None)])
def test_calls_that_are_not_there(member: Member, file: int, first: int, last: int | None) -> None:
    with pytest.raises(ParameterError, match="within the 3 calls"):
        Loop(ones(file, 3), member).run(first, last)


# Which loop is used.


def test_a_miss_lists_what_there_is() -> None:
    with pytest.raises(UnknownParameterError, match="auto, compiled, python"):
        choose_loop("fortran")


def test_auto_takes_the_best_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    best = "python" if LOOPS["compiled"].unavailable_reason("posix") else "compiled"
    assert choose_loop(target="posix").name == best
    assert choose_loop("python", target="posix").name == "python"
    monkeypatch.setattr(type(LOOPS["compiled"]), "unavailable_reason", lambda *_: "no luck")
    assert choose_loop(target="posix").name == "python"
    with pytest.raises(ParameterError, match="no luck"):
        choose_loop("compiled", target="posix")


class Broken(PythonMember):
    """A loop that does not do what it is asked to."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def engine(self, series: Series, moved_bytes: Integers, times: Integers | None) -> Engine:
        """Lay out something else than the series."""
        faults: dict[str, dict[str, Any]] = {
            "other places in the file": {"offsets": series.offsets[::-1]},
            "other places in memory": {"starts": np.zeros_like(series.starts)},
            "fewer bytes": {"sizes": series.sizes // 2},
        }
        return super().engine(dataclasses.replace(series, **faults[self.fault]), moved_bytes, times)


def test_the_trial_lets_a_good_loop_pass(member: Member) -> None:
    assert failed_reason(member, "posix") is None


@pytest.mark.parametrize("fault", ["other places in the file", "other places in memory", "fewer bytes"])
def test_the_trial_finds_a_broken_loop(fault: str) -> None:
    assert "the trial of the python loop failed: wrote" in (failed_reason(Broken(fault), "posix") or "")


def run_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
        check=True,
    )
    return done.stdout.strip()


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    assert (
        run_python("import sys, pytest_pario.access.loops; print('numba' in sys.modules, 'mpi4py' in sys.modules)")
        == "False False"
    )


@pytest.mark.usefixtures("needs_numba")
def test_without_compilation_the_loop_is_python() -> None:
    code = "from pytest_pario.access.loops import choose_loop; print(choose_loop(target='posix').name)"
    assert run_python(code, NUMBA_DISABLE_JIT="1") == "python"


# Where machine code is kept.


@pytest.fixture
def own_cache(needs_numba: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that is taken where NUMBA_CACHE_DIR says nothing, empty."""
    numba = importlib.import_module("numba")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    return tmp_path / f"pytest-pario-{os.getuid()}"


def compile_anew() -> Any:
    return cache.compiled.__wrapped__("count_bytes")


def hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


def test_the_second_time_nothing_is_compiled(own_cache: Path) -> None:
    assert hits(compile_anew()) == 0
    assert own_cache.stat().st_mode & 0o777 == 0o700
    assert hits(compile_anew()) == 1


def test_numba_gets_its_setting_back(own_cache: Path) -> None:
    numba = importlib.import_module("numba")
    compile_anew()
    assert numba.config.CACHE_DIR == ""


@pytest.mark.usefixtures("own_cache")
def test_a_damaged_cache_does_no_harm() -> None:
    compile_anew()
    for name in cache.cache_directory().rglob("*.nb?"):
        name.write_bytes(b"rubbish")
    assert hits(compile_anew()) == 0
    # and is mended by the first who meets it
    assert hits(compile_anew()) == 1


def test_a_directory_of_others_is_not_used(own_cache: Path) -> None:
    own_cache.mkdir()
    own_cache.chmod(0o777)
    with pytest.raises(PermissionError, match="only this user"):
        cache.cache_directory()
    assert hits(compile_anew()) == 0
    assert list(own_cache.iterdir()) == []


def test_a_link_is_not_followed(own_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    own_cache.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError):
        cache.cache_directory()


@pytest.mark.usefixtures("own_cache")
def test_who_compiles_is_waited_for_as_long_as_it_gets_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LOCK_WAIT_S", 0.0)
    asked = 0
    with (cache.cache_directory() / "pario.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def progress(_lock: Path) -> str:
            nonlocal asked
            asked += 1
            if asked == 5:
                fcntl.flock(lock, fcntl.LOCK_UN)
            return str(asked)

        monkeypatch.setattr(cache, "_progress", progress)
        compile_anew()
    assert asked == 5
    assert list(cache.cache_directory().rglob("*.nbi"))


def test_progress_is_a_new_holder_or_its_cpu_time(tmp_path: Path) -> None:
    lock, here = tmp_path / "lock", socket.gethostname()
    for holder in ("", "elsewhere 1", f"{here} 0", f"{here} none"):
        lock.write_text(holder)
        assert cache._progress(lock) == holder
    lock.write_text(f"{here} {os.getpid()}")
    holder, _, before = cache._progress(lock).rpartition(f"{os.getpid()} ")
    assert holder == f"{here} "
    begun = time.process_time()
    while time.process_time() - begun < 0.1:
        pass
    assert cache._progress(lock) != f"{here} {os.getpid()} {before}"


@pytest.mark.usefixtures("own_cache")
def test_a_lock_that_is_not_let_go_is_waited_for_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LOCK_WAIT_S", 0.1)
    with (cache.cache_directory() / "pario.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert hits(compile_anew()) == 0
    assert list(cache.cache_directory().rglob("*.nbi")) == []
