"""CONS-39..50: a class name is given only if every rule was seen to hold."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_pario.environment.device_rate import DeviceRate
from pytest_pario.model import Pattern, Record, Samples, Spread
from pytest_pario.patterns import Layout, Same, Segmented, Strided, plan
from pytest_pario.patterns.payload import ring_payload, whole_payload
from pytest_pario.patterns.stamp import PERIOD, Content
from pytest_pario.workloads.consortium.classes import PHASES, Class, Classified, Evidence, classify_record
from pytest_pario.workloads.runner import count_reused

SPREAD = Spread(1.0, 1.0, 1.0, 0.0)
SAMPLES = Samples((1 << 20,), (SPREAD,), (SPREAD,), (SPREAD,), (SPREAD,), (1.0,), (1.0,))
FACTS = {
    "acts": ["open", "access", "sync", "close"],
    "buffer_used_again": 0,
    "allocation": "new",
    "cache": {"state": "cold", "why": "shown"},
}


def classified(
    asked: Class,
    layout: Layout | None = None,
    cache_bytes: int | None = None,
    *,
    flags: tuple[str, ...] = (),
    fingerprint: dict[str, object] | None = None,
    device: DeviceRate | None = None,
    **facts: Any,
) -> Classified:
    pattern = Pattern("row", layout or Segmented(1 << 18, (1 << 16,) * 4), pointer="explicit")
    record = Record(pattern, PHASES[asked], 4, SAMPLES, 1, fingerprint or {}, {**FACTS, **facts}, flags)
    return classify_record(asked, Evidence(record, plan(pattern, 4), cache_bytes, device=device))


@pytest.mark.parametrize("asked", ["sustained-read", "sustained-write", "cached-write"])
def test_a_clean_run_earns_its_name(asked: Class) -> None:
    assert classified(asked).label == asked


# fmt: off
BROKEN: list[tuple[Class, str, dict[str, Any]]] = [
    ("sustained-read",  "CONS-40", {"acts": ["access"]}),
    ("sustained-read",  "CONS-41", {"buffer_used_again": 3}),
    ("sustained-read",  "CONS-41", {"buffer_used_again": None}),
    ("sustained-read",  "CONS-42", {"cache": {"state": "client-cold", "why": "servers"}}),
    ("sustained-read",  "CONS-42", {"cache": {"state": "cached", "why": "resident"}}),
    ("sustained-write", "CONS-42", {"allocation": "preallocated", "resident_before_write": 0.5}),
    ("sustained-write", "CONS-42", {"allocation": "preallocated", "resident_before_write": None}),
    ("sustained-read",  "CONS-43", {"layout": Same(1 << 16, 2)}),
    ("sustained-write", "CONS-44", {"layout": Same(1 << 16, 2)}),
    ("cached-write",    "CONS-44", {"layout": Same(1 << 16, 2)}),
    ("sustained-write", "CONS-45", {"acts": ["open", "access", "close"]}),
]
# fmt: on


@pytest.mark.parametrize(
    ("asked", "rule", "change"), BROKEN, ids=[f"{a}-{r}-{i}" for i, (a, r, _) in enumerate(BROKEN)]
)
def test_a_broken_rule_withholds_the_name(asked: Class, rule: str, change: dict[str, Any]) -> None:  # CONS-47, CONS-48
    found = classified(asked, **change)
    assert found.name is None
    assert found.label == "transfer rate"
    assert any(reason.startswith(rule) for reason in found.reasons)


@pytest.mark.parametrize("asked", ["sustained-read", "sustained-write", "cached-write"])
def test_memory_earns_no_name(asked: Class) -> None:  # CONS-39, CONS-45: there is neither storage nor device
    found = classified(asked, fingerprint={"filesystem_type": "tmpfs"})
    assert found.label == "transfer rate"
    assert "CONS-39: tmpfs is memory: there is no storage" in found.reasons
    assert ("CONS-45: tmpfs is memory: there is no device" in found.reasons) == (asked == "sustained-write")
    # it is the place that breaks the rule, not the harness
    assert not any(ruling.is_ours for ruling in found.rulings if not ruling.holds)
    assert classified(asked, fingerprint={"filesystem_type": "ext4"}).label == asked


def test_a_read_that_no_device_can_deliver_is_not_cold() -> None:  # CONS-42, CONS-48
    rate = DeviceRate(600.0, "it rotates")
    found = classified("sustained-read", flags=("faster_than_device",), device=rate)
    assert found.label == "transfer rate"
    (reason,) = found.reasons
    assert reason == (
        "CONS-42: caches said to be cold, but the read was faster than the device can be "
        "(device up to 600 MiB/s: it rotates)"
    )


def test_it_is_said_whether_the_device_is_known() -> None:
    def why(device: DeviceRate | None) -> str:
        return next(one.why for one in classified("sustained-read", device=device).rulings if one.rule == "CONS-42")

    assert why(None).endswith("device rate not known")
    assert why(DeviceRate(None, "no O_DIRECT")).endswith("device rate not known: no O_DIRECT")
    assert why(DeviceRate(300.0, "probe")).endswith("device up to 300 MiB/s: probe")


def test_a_write_without_sync_is_a_cached_write_and_says_so() -> None:  # CONS-49
    acts = ["open", "access", "close"]
    assert classified("cached-write", acts=acts).label == "cached-write"
    assert classified("sustained-write", acts=acts).label != "sustained-write"


def test_reuse_is_seen_in_the_buffer_itself() -> None:  # CONS-41
    table = plan(Pattern("row", Segmented(1 << 20, (1 << 16,) * 16), pointer="explicit"), 1).ranks[0]
    content = Content(1)
    assert count_reused(whole_payload(content, 0, table)) == 0
    # a ring uses bytes again from a file of one period on
    assert count_reused(ring_payload(content, 0, table)) == 0
    long = Strided(64 << 10, ncalls=PERIOD >> 15).calls(0, 2)
    assert count_reused(ring_payload(content, 0, long)) > 0


def test_large_is_said_only_where_the_caches_are_known() -> None:  # CONS-39, OQ-4
    assert classified("sustained-read").flags == ("not_large",)
    assert classified("sustained-read", cache_bytes=1 << 20).flags == ("not_large",)
    assert classified("sustained-read", cache_bytes=1000).flags == ()
