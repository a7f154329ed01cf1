from __future__ import annotations

import pytest

from pytest_pario.access.calls import CALLS, find_call
from pytest_pario.errors import UnknownParameterError


def test_the_table_is_complete() -> None:
    """MODEL-06: two directions, three pointers, with and without the others."""
    assert len(CALLS) == len({(call.writes, call.pointer, call.collective) for call in CALLS.values()}) == 12


def test_direction_is_in_the_name() -> None:
    assert all(call.writes == call.name.startswith("write") for call in CALLS.values())


def test_a_miss_lists_what_there_is() -> None:
    with pytest.raises(UnknownParameterError, match="write_at_all"):
        find_call("write_everything")
