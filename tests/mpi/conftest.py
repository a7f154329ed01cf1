"""Jobs of tests work in memory where there is room: most of them look at bytes and outcomes, not at a disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mpi.jobs import fast_scratch


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A directory in memory; on the disk of pytest's own with `@pytest.mark.on_disk`."""
    if request.node.get_closest_marker("on_disk"):
        yield tmp_path
        return
    with fast_scratch(tmp_path) as path:
        yield path
