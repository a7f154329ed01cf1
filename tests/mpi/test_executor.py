"""The executor under real MPI: all layouts and calls byte-verified; what goes wrong is told once and leaves nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_pario.session.journal import read_entries
from tests.mpi.jobs import run_pytest
from tests.mpi.launching import is_openmpi, missing_reason, run_ranks

CASES = Path(__file__).parent / "cases" / "executor"


# MODEL-05, MODEL-06, MODEL-09, GEN-04, GEN-06: at an odd number, at more ranks than some layouts have parts for
# CONS-64: also where a rank has nothing to move
@pytest.mark.parametrize(
    ("ranks", "phases"),
    [
        (1, "write,rewrite,read"),
        # write, rewrite and read of one file, each verified
        (2, "in-a-row"),
        pytest.param(3, "in-a-row", marks=pytest.mark.openmpi),
        (4, "in-a-row"),
        (5, "in-a-row"),
        (8, "in-a-row"),
    ],
)
def test_every_layout_by_every_call(ranks: int, phases: str, tmp_path: Path) -> None:
    if missing_reason():
        pytest.skip(str(missing_reason()))
    result = run_ranks([str(CASES / "all_layouts.py"), str(tmp_path), phases], ranks, timeout=400)
    assert not result.timed_out, result.stderr[-2000:]
    assert result.returncode == 0, result.stderr[-3000:]
    (told,) = result.records
    assert told["bad"] == {}
    assert told["left"] == []
    assert told["ran"] > 120 * len(phases.split(","))


ALONE = {
    # what fails on the last rank only, and how that rank leaves
    "aligned": "ParameterError: odd: offset = ",
    "posix open": "FileAccessError: open of ",
    "mpi open": "FileAccessError: each/write of ",
    "timed open": "FileAccessError: timed/write of ",
    "sync": "FileAccessError: each/write of ",
    "view": "FileAccessError: each/write of ",
    "filetype": "MemoryError: no room for a filetype",
    "evict": "OSError: [Errno 5]",
    "verify": "OSError: [Errno 24]",
    "nothing": "fine",
}


# ERR-05, ERR-13, GPFS-47, GPFS-48, GPFS-49: each rank its own error, the others are told of it, and nobody waits
@pytest.mark.parametrize("ranks", [2, 3])
def test_what_fails_on_one_rank_ends_the_pass_on_all(ranks: int, tmp_path: Path) -> None:
    if missing_reason():
        pytest.skip(str(missing_reason()))
    result = run_ranks([str(CASES / "one_sided.py"), str(tmp_path)], ranks, timeout=120)
    assert not result.timed_out, result.stderr[-2000:]
    assert result.returncode == 0, result.stderr[-3000:]
    assert len(result.records) == ranks
    for record in result.records:
        assert record["left"] == []
        for name, own in ALONE.items():
            other = "fine" if own == "fine" else "RemoteTaskError: "
            at_fault = record["rank"] == ranks - 1 or (name == "aligned" and record["rank"] > 0)
            assert record["told"][name].startswith(own if at_fault else other), (name, record)


@pytest.mark.parametrize("ranks", [1, 3])
def test_every_sync_rule_and_loop(ranks: int, tmp_path: Path) -> None:
    if missing_reason():
        pytest.skip(str(missing_reason()))
    result = run_ranks([str(CASES / "sync_rules.py"), str(tmp_path)], ranks, timeout=200)
    assert result.returncode == 0, result.stderr[-3000:]
    (told,) = result.records
    assert (told["ran"], told["bad"], told["left"]) == (96, {}, [])


@pytest.mark.slow
def test_a_call_of_more_than_two_gibibytes(tmp_path: Path) -> None:  # MODEL-09, large counts
    if missing_reason():
        pytest.skip(str(missing_reason()))
    if shutil.disk_usage(tmp_path).free < 4 << 30:
        pytest.skip("needs 4 GiB of free space for one file of 2 GiB")
    result = run_ranks([str(CASES / "large_count.py"), str(tmp_path)], 1, timeout=200)
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.records == [{"rank": 0, "moved": 0}]


ONE = """
import os, resource, signal
import pytest
from pytest_pario.access.target import Target
from pytest_pario.errors import RemoteTaskError
from pytest_pario.model import Hints, Open, Pattern
from pytest_pario.patterns import Segmented, Strided, Tiles
from pytest_pario.workloads import runner as module

PATTERN = Pattern("plain", Segmented(65536, (16384,) * 4), pointer="explicit")
STRIDED = Pattern("strided", Strided(1000, ncalls=4), coll=True, open=Open(prefill=0xEE))
"""

# fmt: off
WRONG = [
    # what is done to the run, the line that tells it
    ("flipped byte", """
def test_x(pario, comm, monkeypatch):
    real = module.verify_written
    def damage(target, work, content):
        comm.Barrier()
        if comm.rank == 0:
            with open(target.path, "r+b") as file:
                file.seek(70000)
                old = file.read(1)[0]
                file.seek(70000)
                file.write(bytes([old ^ 1]))
        comm.Barrier()
        real(target, work, content)
    monkeypatch.setattr(module, "verify_written", damage)
    pario.run(PATTERN, "write")
""", "1 wrong byte, first at offset 70000"),  # GEN-07
    ("rewrite that did nothing", """
def test_x(pario, monkeypatch):
    real = module._Measurement._pass
    def lazy(self, phase, payload):
        return real(self, "read" if phase == "rewrite" else phase, payload)
    monkeypatch.setattr(module._Measurement, "_pass", lazy)
    pario.run(PATTERN, "rewrite")
""", "generation 0"),  # GEN-02
    ("size limit", """
def test_x(pario, comm):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40000, resource.RLIM_INFINITY))
    try:
        pario.run(PATTERN, "write")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
""", "FileAccessError"),  # ERR-06, ERR-09, GEN-08, GPFS-49: each its own error, agreed after the clock
    ("no room", """
def test_x(pario):
    pario.run(Pattern("huge", Segmented(1 << 50, (1024,)), pointer="explicit"), "write")
""", "SpaceError: huge needs"),  # GEN-16
    ("memory", """
def test_x(pario):
    pario.run(PATTERN, "read", memory_limit=1000)
""", "at most the memory limit 1000 B"),
    ("hint that would kill the library", """
def test_x(pario):
    pario.run(STRIDED, "write", hints={"cb_buffer_size": "0"})
""", "HintValueError: hint cb_buffer_size = '0'"),  # ERR-04, GEN-13
    ("hint of a view that would kill the library", """
def test_x(pario):
    pario.run(Pattern("v", Strided(1000), coll=True, hints=Hints({}, {"cb_buffer_size": "0"})), "write")
""", "HintValueError: hint cb_buffer_size = '0'"),  # ERR-04, GEN-13
    ("phase", """
def test_x(pario):
    pario.run(Pattern("r", Segmented(8, (8,)), access=("write",)), "read")
""", "r: phase = 'read' (from suite table): must be one of write"),
]
# fmt: on


@pytest.mark.parametrize(("body", "line"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_what_goes_wrong_is_told_and_leaves_nothing(body: str, line: str, tmp_path: Path) -> None:
    if is_openmpi() and "setrlimit" in body:
        pytest.skip("Open MPI counts a write beyond the limit as complete")
    (tmp_path / "test_x.py").write_text(ONE + body)
    (tmp_path / "scratch").mkdir()
    job = run_pytest(3, "--pario-dir=scratch", "test_x.py", directory=tmp_path)
    assert job.status == 1, job.output
    assert line in job.output
    assert job.output.count("short test summary") == 1
    assert list((tmp_path / "scratch").iterdir()) == []


GOOD = """
def test_hints(pario):
    record = pario.run(STRIDED, "write", hints={"romio_cb_write": "enable", "IBM_largeblock_io": "true"}, rounds=2)
    assert record.facts["hints"]["dropped"]["IBM_largeblock_io"] == "true"  # CONS-57, GEN-12
    assert record.facts["allocation"] == "prefilled with 0xee"  # CONS-46
    assert record.facts["synced"] and len(record.samples.io) == 2

def test_cold(pario):
    record = pario.run(PATTERN, "read", rounds=2)
    cache = record.facts["cache"]  # CONS-48: what was shown, on all ranks
    assert cache["state"] in ("cold", "client-cold", "cached", "unknown")
    assert cache["resident"] is not None and cache["why"]
    assert record.fingerprint["filesystem_type"]
    assert record.fingerprint["ranks"] == record.n
    assert len(cache["resident_before_round"]) == 3  # CONS-48: a warm-up and two rounds
    over = record.n > len(os.sched_getaffinity(0))
    assert ("oversubscribed" in record.flags) == over  # GEN-19

def test_measured_facts(pario, comm):
    record = pario.run(PATTERN, "write", rounds=2)
    facts = record.facts
    assert facts["acts"] == ["open", "access", "sync", "close"]  # CONS-45: the calls that were made
    assert facts["timed"] == "open, write, sync, close"  # CONS-07
    assert len(facts["rates"]["rate_max"]) == len(facts["rates"]["rate_span"]) == 2  # CONS-31, CONS-37, CONS-38
    assert facts["error_count"] == 0 and facts["direct"] is False  # GEN-14
    assert set(facts["load"]) >= {"load_average", "other_cpu_share", "steal_share", "polluted"}
    assert ("polluted" in record.flags) == facts["load"]["polluted"]
    assert facts["intra_barriers"] == (os.environ["BARRIERS"] == "1")  # CONS-25

def test_more_ranks_than_tiles(pario, comm):  # CONS-64
    tiles = Pattern("tiles", Tiles(max(1, comm.size - 1), 1, 32, 32), coll=True, open=Open(prefill=0xEE))
    record = pario.run(tiles, "read", rounds=1)
    assert record.n == record.fingerprint["ranks"] == max(1, comm.size - 1)
    assert set(record.samples.moved_bytes) == {record.n * 32 * 32 * 3}

def test_an_error_among_fewer_ranks_reaches_all(pario, comm, monkeypatch):  # CONS-64, ERR-13
    if comm.size == 1:
        return
    def break_down(target, *_):
        assert target.comm.size == comm.size - 1
        if comm.rank == 0:
            raise OSError(5, "broken")
        raise RuntimeError("broken, too")
    monkeypatch.setattr(module, "verify_written", break_down)
    tiles = Pattern("tiles", Tiles(comm.size - 1, 1, 32, 32), coll=True, open=Open(prefill=0xEE))
    own = OSError if comm.rank == 0 else RuntimeError if comm.rank < comm.size - 1 else RemoteTaskError
    with pytest.raises(own):
        pario.run(tiles, "write", rounds=1)

def test_slow_is_no_failure(pario, monkeypatch):  # GEN-15: rates are recorded, not judged
    real = module.run_pass
    def slow(target, *more):
        done = real(target, *more)
        return type(done)(type(done.times)(**{**vars(done.times), "elapsed_s": 1000.0}), done.errors)
    monkeypatch.setattr(module, "run_pass", slow)
    assert pario.run(PATTERN, "write", rounds=1).samples.elapsed_s == (1000.0,)
"""


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_record_says_what_was_done(ranks: int, tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(ONE + GOOD)
    (tmp_path / "scratch").mkdir()
    barriers = {"BARRIERS": str(int(ranks == 3)), "INTRA_BARRIERS": str(int(ranks == 3))}
    job = run_pytest(ranks, "--pario-dir=scratch", "test_x.py", directory=tmp_path, environment=barriers)
    assert job.counts() == {"passed": 6}, job.output
    # GEN-14: one JSON line for each test, with the whole record in it
    (journal,) = (tmp_path / ".pario").glob("*.jsonl")
    (cold,) = [e for e in read_entries(journal) if e["event"] == "end" and e["nodeid"].endswith("test_cold")]
    record = cold["benchmark"][0]["extra_info"]["record"]
    assert record["n"] == ranks
    assert record["samples"]["elapsed_s"]
    assert {"seed", "phase", "pattern", "fingerprint", "facts"} <= set(record)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--pario-param=no_such=1", "unknown parameter 'no_such'; known:"),  # ERR-02
        ("--pario-param=nr_tiles_x=0", "nr_tiles_x = '0' (from command line): must be"),  # ERR-01
        ("--pario-param=cb_nodes=-3", "hint cb_nodes = '-3'"),
        (
            "--pario-dir=/nowhere/at/all",
            "scratch directory = '/nowhere/at/all' (from --pario-dir): must be a directory",
        ),
        ("--pario-profile=huge", "--pario-profile = 'huge' (from command line): must be one of quick, nightly, full"),
    ],
)
def test_wrong_calls_are_refused_once_before_anything_runs(option: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text("def test_x(pario): raise AssertionError('must not run')\n")
    job = run_pytest(3, option, "test_x.py", directory=tmp_path)
    assert job.status == 4, job.output
    assert job.output.count(message) == 1
    assert "must not run" not in job.output


@pytest.mark.parametrize("kept", [False, True])
def test_the_file_of_a_failed_run_may_be_kept(kept: bool, tmp_path: Path) -> None:  # GEN-16
    flipped = next(body for name, body, _ in WRONG if name == "flipped byte")
    (tmp_path / "test_x.py").write_text(ONE + flipped + "\n\ndef test_y(pario):\n    pario.run(PATTERN, 'write')\n")
    (tmp_path / "scratch").mkdir()
    options = ["--pario-keep-on-error"] if kept else []
    job = run_pytest(2, "--pario-dir=scratch", *options, "test_x.py", directory=tmp_path)
    assert job.counts() == {"failed": 1, "passed": 1}, job.output
    left = [path.name for path in (tmp_path / "scratch").rglob("*") if path.is_file()]
    assert left == (["plain"] if kept else [])


@pytest.mark.parametrize(("option", "status"), [("--pario-require-cold", 1), ("--pario-keep", 0)])
def test_tmpfs_cannot_be_cold(option: str, status: int, tmp_path: Path) -> None:
    """ERR-10: what cannot be evicted is `cached`, and an error only where cold is required."""
    shm = Path("/dev/shm")
    if not shm.is_dir() or "tmpfs" not in Path("/proc/mounts").read_text():
        pytest.skip("needs a tmpfs at /dev/shm")
    (tmp_path / "test_x.py").write_text(ONE + "\ndef test_x(pario):\n    pario.run(PATTERN, 'read', rounds=1)\n")
    directory = shm / f"pario-{tmp_path.name}"
    directory.mkdir()
    try:
        job = run_pytest(2, f"--pario-dir={directory}", option, "test_x.py", directory=tmp_path)
        assert job.status == status, job.output
        assert ("CacheStateError" in job.output) == (status == 1)
        assert bool(list(directory.iterdir())) == (option == "--pario-keep")
    finally:
        for path in sorted(directory.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        directory.rmdir()
