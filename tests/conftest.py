"""What all tests need of their surroundings; jobs that they start inherit it."""

from __future__ import annotations

import os

import pytest

# Most jobs have more ranks than this machine has cores: with this, ranks of MPICH that wait leave theirs.
os.environ.setdefault("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")

UNUSED = ("hypothesispytest", "xdist", "xdist.looponfail")
"""Plugins that no job needs; at the end of every session the first imports all of hypothesis, half a second a rank."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep unused plugins out of jobs, but not out of workers that this process is about to start."""
    if getattr(config.option, "numprocesses", None):
        return
    given = os.environ.get("PYTEST_ADDOPTS", "")
    os.environ["PYTEST_ADDOPTS"] = " ".join([given, *(f"-p no:{name}" for name in UNUSED)]).strip()
