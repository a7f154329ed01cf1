from __future__ import annotations

import pytest

from pytest_pario.session.outcome import IDLE, Merged, RankOutcome, merge
from pytest_pario.session.wire import MESSAGE_LIMIT_BYTES, TEXT_LIMIT, budget_bytes, encode

PASSED = RankOutcome(0, "passed")


def failed(rank: int, text: str = "E   boom", **more: object) -> RankOutcome:
    return RankOutcome(rank, "failed", text, ("t.py", 3, "boom"), **more)  # type: ignore[arg-type]


# fmt: off
TABLE = [
    ("all pass",             [PASSED, RankOutcome(1, "passed")],                              "passed", None),
    ("idle does not count",  [PASSED, RankOutcome(1, IDLE)],                                  "passed", None),
    ("one fails",            [PASSED, failed(1)],                                             "failed", None),
    ("one skips",            [PASSED, RankOutcome(1, "skipped", "why")],                      "failed", None),
    ("all skip",             [RankOutcome(0, "skipped", "a"), RankOutcome(1, "skipped", "a")], "skipped", None),
    ("active ones skip",     [RankOutcome(0, "skipped", "a"), RankOutcome(1, IDLE)],          "skipped", None),
    ("one xfails",           [PASSED, RankOutcome(1, "skipped", "E", xfail="bug")],           "skipped", "bug"),
    ("xfail without reason", [PASSED, RankOutcome(1, "skipped", "E", xfail="")],              "skipped", ""),
    ("xfail and strict",     [failed(0, "[XPASS(strict)]", xpass_strict=True),
                              RankOutcome(1, "skipped", "E", xfail="bug")],                   "skipped", "bug"),
    ("all xpass strictly",   [failed(0, "[XPASS(strict)]", xpass_strict=True)] * 2,           "failed", None),
    ("all xpass",            [RankOutcome(0, "passed", xfail="bug")] * 2,                     "passed", "bug"),
    ("xfail and failure",    [failed(0), RankOutcome(1, "skipped", "E", xfail="bug")],        "failed", None),
    ("subtests differ",      [PASSED, RankOutcome(1, "passed", subtests=2)],                  "failed", None),
    ("idle has no subtests", [RankOutcome(0, "passed", subtests=2), RankOutcome(1, IDLE)],    "passed", None),
    ("skip and failure",     [failed(0), RankOutcome(1, "skipped", "why")],                   "failed", None),
]
# fmt: on


@pytest.mark.parametrize(("outcomes", "outcome", "xfail"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_one_outcome(outcomes: list[RankOutcome], outcome: str, xfail: str | None) -> None:
    merged = merge(outcomes)
    assert (merged.outcome, merged.xfail) == (outcome, xfail)
    assert merge([RankOutcome.from_wire(one.to_wire()) for one in outcomes]) == merged


def test_each_distinct_text_once_with_its_ranks() -> None:
    merged = merge([failed(0, "at 0x7f01"), failed(1, "other"), failed(2, "at 0x7f99"), failed(3, "at 0x1")])
    assert merged.parts == (("ranks 0,2,3 of 4", "at 0x7f01"), ("rank 1 of 4", "other"))
    assert merged.crash == ("t.py", 3, "ranks 0-3 of 4: boom")


def test_a_failure_that_follows_from_another_is_left_out() -> None:
    merged = merge([failed(0, "remote", follow_on=True), failed(1, "cause")])
    assert [text for _, text in merged.parts] == ["cause"]
    assert merge([failed(0, "remote", follow_on=True)]).outcome == "failed"


def test_disagreement_is_explained() -> None:
    merged = merge([PASSED, RankOutcome(1, "passed"), RankOutcome(2, "skipped", "no lustre")])
    assert merged.crash is not None
    assert merged.crash[2].startswith("ranks disagree: rank 2 skipped (no lustre), ranks 0,1 did not")


def test_nothing_said_nothing_merged() -> None:
    assert merge([RankOutcome(0, IDLE)]) == Merged("passed")


def test_what_all_ranks_say_fits_into_one_message() -> None:
    ranks = 700
    sections = [(f"Captured {name} call", "\N{GRINNING FACE}" * TEXT_LIMIT) for name in ("stdout", "stderr", "log")]
    told = failed(0, "E" * TEXT_LIMIT, sections=sections)
    cut = told.within(budget_bytes(ranks))
    assert len(encode({"ranks": [cut.to_wire()] * ranks})) < MESSAGE_LIMIT_BYTES
    assert "characters left out" in cut.text
    assert cut.crash == told.crash
    assert told.within(budget_bytes(4)) == told
    many = failed(0, "E", sections=[(f"section {number} call", "x") for number in range(10_000)])
    assert len(encode({"ranks": [many.within(budget_bytes(ranks)).to_wire()] * ranks})) < MESSAGE_LIMIT_BYTES


def test_differing_subtests_are_named() -> None:
    merged = merge(
        [RankOutcome(0, "passed", subtests=2), *(RankOutcome(rank, "passed", subtests=3) for rank in (1, 2))]
    )
    assert merged.parts[0][1].startswith(
        "ranks disagree about the number of subtests: rank 0 had 2, ranks 1,2 had 3; have the same"
    )
