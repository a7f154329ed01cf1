from __future__ import annotations

import pytest

from pytest_pario.errors import HintValueError
from pytest_pario.workloads.hints import HINT_KEYS, check_hint, check_hints, classify_hints, group_hints


@pytest.mark.parametrize("key", ["cb_buffer_size", "ind_rd_buffer_size", "ind_wr_buffer_size", "cb_nodes"])
@pytest.mark.parametrize("value", ["0", "-1", "x", "", "1.5", "0x10", "2147483648", "4294967296"])
def test_sizes_and_counts_must_be_positive(key: str, value: str) -> None:
    # GEN-13
    with pytest.raises(HintValueError, match=f"hint {key}"):
        check_hint(key, value)
    check_hint(key, "1")
    check_hint(key, "2147483647")


@pytest.mark.parametrize("key", ["striping_unit", "striping_factor"])
def test_striping_must_not_be_negative(key: str) -> None:
    # GEN-13
    with pytest.raises(HintValueError, match="0 or more"):
        check_hints({key: "-1"})
    check_hints({key: "0"})


def test_what_is_unknown_passes() -> None:
    # CONS-57
    check_hints({"no_such_hint": "-1", "romio_cb_read": "banana"})


def test_what_became_of_each_hint() -> None:
    # GEN-12, with what ENV-21 saw
    requested = {"cb_buffer_size": "0001024", "cb_nodes": "-3", "IBM_sparse_access": "true", "romio_cb_read": "enable"}
    in_force = {"cb_buffer_size": "1024", "cb_nodes": "1", "romio_cb_read": "enable", "ind_rd_buffer_size": "4194304"}
    outcomes = classify_hints(requested, in_force)
    assert {one.key: one.state for one in outcomes} == {
        "cb_buffer_size": "accepted",
        "cb_nodes": "changed",
        "IBM_sparse_access": "dropped",
        "romio_cb_read": "accepted",
        "ind_rd_buffer_size": "defaulted",
    }
    assert group_hints(outcomes)["dropped"] == {"IBM_sparse_access": "true"}
    assert group_hints(outcomes)["changed"] == {"cb_nodes": "1"}


def test_keys_differ_by_more_than_case() -> None:
    assert len({key.lower() for key in HINT_KEYS}) == len(HINT_KEYS)
