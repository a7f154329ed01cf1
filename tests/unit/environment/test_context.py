from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from pytest_pario.environment.context import Context, existing, find_tool


def test_a_tool_that_answers(tmp_path: Path) -> None:
    context = Context(tmp_path)
    assert context.run("sh", "-c", "echo $LC_ALL") == "C\n"
    assert context.complaints == []


def test_tools_that_are_missing_or_fail_are_silent(tmp_path: Path) -> None:
    context = Context(tmp_path)
    assert context.run("pario-no-such-tool") is None
    assert context.run("sh", "-c", "echo text; exit 3") is None
    assert context.complaints == []


def test_a_file_that_is_no_program_is_silent(tmp_path: Path) -> None:
    tool = tmp_path / "lfs"
    tool.write_bytes(b"\x7fELF broken")
    tool.chmod(0o755)
    assert Context(tmp_path, environment={"PATH": str(tmp_path)}).run("lfs", "getstripe") is None


def test_output_that_is_no_text(tmp_path: Path) -> None:
    assert Context(tmp_path).run("printf", r"\377") == "\ufffd"


def test_a_tool_that_hangs_costs_its_time_and_is_named(tmp_path: Path) -> None:
    context = Context(tmp_path, timeout_s=0.2)
    began = time.monotonic()
    assert context.run("sh", "-c", "sleep 60 & sleep 60") is None
    assert time.monotonic() - began < 30
    assert context.complaints == ["sh -c: no answer in 0.2 s"]


def test_all_tools_together_have_a_budget(tmp_path: Path) -> None:
    context = Context(tmp_path, timeout_s=0.2, budget_s=0.3)
    for _ in range(5):
        context.run("sleep", "60")
    assert len(context.complaints) == 2
    assert context.run("true") is None


def test_files_and_attributes_that_are_missing(tmp_path: Path) -> None:
    context = Context(tmp_path)
    assert context.read("/no/such/file") is None
    assert context.xattr(str(tmp_path), "user.pario") is None
    assert context.space("/no/such/file") is None
    assert context.mount_id("/no/such/file") is None
    assert context.preferred_bytes("/no/such/file") is None
    assert context.device_number("/no/such/file") is None
    assert context.magic("/no/such/file") is None


def test_what_the_kernel_tells(tmp_path: Path) -> None:
    context = Context(tmp_path)
    assert context.magic("/proc") == 0x9FA0
    assert context.device_number("/dev/null") == "1:3"
    assert context.mount_id("/proc") != context.mount_id("/sys")


def test_reading_is_bounded(tmp_path: Path) -> None:
    big = tmp_path / "big"
    big.write_bytes(b"x" * (3 << 20))
    text = Context(tmp_path).read(str(big))
    assert text is not None
    assert len(text) == 1 << 20


def test_a_directory_that_is_to_be_made(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert existing(tmp_path / "link" / "a" / "b") == os.path.realpath(tmp_path / "real")


def test_tools_beside_python_are_found() -> None:
    name = Path(sys.executable).name
    assert find_tool(name, "/nowhere") is not None
