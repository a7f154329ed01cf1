"""Faults of a filesystem below single ranks, without root: a small library in front of libc."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("faults.c")
_PLACE = tempfile.TemporaryDirectory(prefix="pario-faults-")
"""Removed when the tests end."""


@functools.cache
def build_library() -> Path:
    """Compile once; without a compiler the test is skipped with the reason."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler for the library that injects faults")
    made = Path(_PLACE.name) / "faults.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(made), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    return made


def fault(kind: str, op: str, directory: Path, **settings: int) -> dict[str, str]:
    """Environment of a job whose files in `directory` meet this fault; settings as faults.c names them."""
    named = {f"FAULT_{name.upper()}": str(value) for name, value in settings.items()}
    chosen = {"FAULT": kind, "FAULT_OP": op, "FAULT_DIR": str(directory.resolve())}
    return {"LD_PRELOAD": str(build_library()), **chosen, **named}
