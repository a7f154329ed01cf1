"""The section about BTIO: one line for each run, overhead against the run without output, NPB's own statistics."""

from __future__ import annotations

from typing import Any

from pytest_pario.report.btio_summary import HEAD, summary_lines

CLASS_B: dict[str, Any] = {"class": "B"}


def entry(subtype: str, total_s: float, ranks: int = 4, **more: Any) -> dict[str, Any]:
    """Extra information of a run of class A with 419 MB of output."""
    output = {
        "effective_bytes_per_s": 400e6 / total_s,
        "io_s": 0.5,
        "io_bytes_per_s": 800e6,
        "readback_bytes_per_s": 2000e6,
        "npb": dict.fromkeys(("io_s", "io_percent", "io_mb_s", "verify_io_s", "verify_io_mb_s"), 12.5),
    }
    none = {"effective_bytes_per_s": 0.0, "io_s": 0.0, "io_bytes_per_s": None, "npb": None}
    told = {"class": "A", "subtype": subtype, "mode": "solved", "engine": "compiled", "total_s": total_s, "mops": 1e4}
    told |= {"deviations": {"residual": 2e-13, "delta": 1e-14}, "flags": ["oversubscribed"]}
    return {"ranks": ranks, "btio": {**told, **(none if subtype == "none" else output), **more}}


def cells(line: str) -> str:
    return " ".join(line.split()[3:])


def test_a_line_for_each_run() -> None:
    lines = summary_lines([{"moved_bytes": [1]}, entry("full", 5.0), entry("none", 4.0)])
    assert [line.split()[:3] for line in lines[1:3]] == [["A", "full", "solved"], ["A", "none", "solved"]]
    # the run without output may come later
    assert cells(lines[1]) == "4 5.000 10000 80.0 0.500 800.0 2000.0 +1.000 2.0e-13 oversubscribed"
    assert cells(lines[2]) == "4 4.000 10000 - - - - - 2.0e-13 oversubscribed"
    assert len(cells(lines[2]).split()) == len(HEAD)
    assert cells(lines[-1]) == "4 12.500 12.5 12.5 12.500 12.5"
    assert summary_lines([{"moved_bytes": [1]}]) == []


def test_overhead_only_against_the_same_class_ranks_mode_and_engine() -> None:
    full = entry("full", 5.0)
    others = [entry("none", 4.0, 9), entry("none", 4.0, engine="numpy"), entry("none", 4.0, **CLASS_B)]
    replay = entry("epio", 1.0, mode="replay", mops=None, engine="none")
    lines = summary_lines([full, replay, *others])
    assert cells(lines[1]).split()[7] == "-"
    assert cells(lines[2]) == "4 1.000 - 400.0 0.500 800.0 2000.0 - 2.0e-13 oversubscribed"


def test_flags_of_the_record_and_norms_without_a_published_value() -> None:
    told = entry("epio", 5.0, deviations={"residual": 1e-12, "delta": None})
    (line,) = [one for one in summary_lines([{**told, "record": {"flags": ["paused"]}}]) if one.endswith("delta")]
    assert cells(line).endswith(" 1.0e-12 paused, no value for delta")
