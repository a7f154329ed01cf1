"""Benchmarks whose subject is the MPI library itself run under no other strategy."""

from __future__ import annotations

import pytest

from pytest_pario.session.keys import OPTIONS


def skip_unless_native(config: pytest.Config, benchmark: str) -> None:
    """Skip a benchmark whose subject is the library's own calls where another strategy was asked for."""
    asked = config.stash[OPTIONS].strategy or "native"
    if asked.partition(":")[0] != "native":
        pytest.skip(
            f"{benchmark} is defined by the calls of the MPI library, not by --pario-strategy {asked}: run it without"
        )
