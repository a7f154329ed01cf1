from __future__ import annotations

import json
import logging
import os
import socket
import tempfile
from pathlib import Path

import pytest

from pytest_pario.access.trace import Trace, TraceSettings, job_id, trace_from_environment
from pytest_pario.errors import FileAccessError, ParameterError


def records(trace: Trace) -> list[dict[str, object]]:
    assert trace.path is not None
    return [json.loads(line) for line in trace.path.read_text().splitlines()]


# GPFS-55: what the environment asks for


def test_off_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARIO_TRACE", raising=False)
    assert trace_from_environment(0) is None


@pytest.mark.parametrize("value", ["", "off"])
def test_can_be_turned_off(value: str) -> None:
    assert TraceSettings.from_environment({"PARIO_TRACE": value}) is None


def test_defaults() -> None:
    settings = TraceSettings.from_environment({"PARIO_TRACE": "all"})
    assert settings is not None
    assert (settings.mode, settings.min_offset, settings.directory) == ("all", 0, Path(tempfile.gettempdir()))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PARIO_TRACE", "everything"),
        ("PARIO_TRACE", "ALL"),
        ("PARIO_TRACE_MIN_OFFSET", "-1"),
        ("PARIO_TRACE_MIN_OFFSET", "1e6"),
        ("PARIO_TRACE_MIN_OFFSET", "²"),
        ("PARIO_TRACE_DIR", "/nowhere/at/all"),
    ],
)
def test_bad_values_name_the_variable_and_the_environment(name: str, value: str) -> None:
    with pytest.raises(ParameterError) as caught:
        TraceSettings.from_environment({"PARIO_TRACE": "all", name: value})
    assert (caught.value.name, caught.value.value, caught.value.origin) == (name, value, "environment")


def test_one_trace_per_task(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PARIO_TRACE", "errors")
    monkeypatch.setenv("PARIO_TRACE_DIR", str(tmp_path))
    assert trace_from_environment(3) is trace_from_environment(3)
    assert not list(tmp_path.iterdir())


# GPFS-56: where it goes


def test_name_holds_job_rank_and_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "99[4]")
    trace = Trace(TraceSettings("all", directory=tmp_path), 12)
    trace.success("sync", "data", None, None, None)
    assert trace.path is not None
    assert trace.path.name == f"pario-trace-99_4_-rank00012-{socket.gethostname()}-{os.getpid()}.jsonl"
    assert trace.path.stat().st_mode & 0o777 == 0o600


def test_two_traces_never_share_a_file(tmp_path: Path) -> None:
    first, second = (Trace(TraceSettings("all", directory=tmp_path), 0) for _ in range(2))
    first.success("open", "data", None, None, None)
    second.success("open", "data", None, None, None)
    assert first.path != second.path
    assert len(records(first)) == len(records(second)) == 1


def test_job_id_without_a_batch_system() -> None:
    assert job_id({"PBS_JOBID": "17.server"}) == "17.server"
    assert job_id({}) == f"pid{os.getppid()}"


# GPFS-57: what is recorded


def test_record_of_an_operation(tmp_path: Path) -> None:
    trace = Trace(TraceSettings("all", directory=tmp_path), 2)
    trace.success("write_at", "data", 4096, 512, 512)
    (record,) = records(trace)
    assert isinstance(record.pop("time"), float)
    assert record == {"rank": 2, "op": "write_at", "file": "data", "offset": 4096, "length": 512, "result": 512}


def test_record_of_an_error(tmp_path: Path) -> None:
    trace = Trace(TraceSettings("errors", directory=tmp_path), 0)
    trace.success("write_at", "data", 0, 512, 512)
    trace.failure("write_at", "data", 0, 512, FileAccessError("write_at", "data", "ERR_IO", "No space left", 0))
    trace.failure("write_at", "data", 0, 512, ParameterError("offset", -1, "0 or more", "write_at"))
    first, second = records(trace)
    assert (first["error"], first["text"]) == ("ERR_IO", "No space left")
    assert second["error"] == "ParameterError"


def test_lower_limit_of_offsets_spares_errors_and_unknown_offsets(tmp_path: Path) -> None:
    trace = Trace(TraceSettings("all", min_offset=100, directory=tmp_path), 0)
    trace.success("read_at", "data", 99, 1, 1)
    trace.success("read_at", "data", 100, 1, 1)
    trace.success("read_shared", "data", None, 1, 1)
    trace.failure("read_at", "data", 0, 1, OSError("bad"))
    assert [record["offset"] for record in records(trace)] == [100, None, 0]


def test_size_is_bounded_and_the_end_is_told(tmp_path: Path) -> None:
    trace = Trace(TraceSettings("all", directory=tmp_path, limit_bytes=2000), 0)
    for offset in range(1000):
        trace.success("write_at", "data", offset, 1, 1)
    assert trace.path is not None
    assert trace.path.stat().st_size <= 2000
    found = records(trace)
    assert [record["op"] for record in found].count("truncated") == 1
    assert found[-1]["op"] == "truncated"


def test_trace_that_cannot_be_written_does_no_harm(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    trace = Trace(TraceSettings("all", directory=tmp_path / "gone"), 0)
    with caplog.at_level(logging.WARNING):
        trace.success("open", "data", None, None, None)
        trace.success("close", "data", None, None, None)
    assert len(caplog.records) == 1
    assert "rank 0 stops tracing" in caplog.text
