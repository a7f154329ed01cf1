"""Records that are read by a shared pointer come in any order; all together must be those that were written."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_pario import mpi
from pytest_pario.access.target import Target
from pytest_pario.access.verification import make_reading_room, verify_read
from pytest_pario.errors import VerificationError
from pytest_pario.model import Pattern
from pytest_pario.patterns import Strided, plan
from pytest_pario.patterns.payload import whole_payload
from pytest_pario.patterns.stamp import Content

pytestmark = pytest.mark.skipif(bool(mpi.unavailable_reason()), reason=str(mpi.unavailable_reason()))


def test_any_order_but_nothing_strange(tmp_path: Path) -> None:  # GEN-04
    pattern = Pattern("records", Strided(1000, ncalls=6), pointer="shared")
    target = Target(mpi.load().COMM_SELF, pattern, tmp_path / "file", {})
    work, content = plan(pattern, 1), Content(3)
    written, room = whole_payload(content, 0, work.ranks[0]), make_reading_room(target, work)
    with pytest.raises(VerificationError, match="6 records read that nobody wrote"):
        verify_read(target, work, content, room)
    for call in range(6):
        room.call(call)[:] = written.call(5 - call)
    verify_read(target, work, content, room)
    # the same record twice
    room.call(0)[:] = written.call(0)
    with pytest.raises(VerificationError, match="1 records read that nobody wrote"):
        verify_read(target, work, content, room)
