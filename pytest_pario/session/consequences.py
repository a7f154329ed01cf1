"""What the findings of the doctor mean for the suites: tests that are skipped, fail or lose their name. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_pario.environment.capabilities import Capability
from pytest_pario.workloads.consortium.tools import OPERATIONS, find_tool, missing_tool

# fmt: off
MEANS: dict[tuple[str, str], str] = {
    ("MPI", "no"):             "everything under MPI: skipped, there is no library to start",
    ("create", "no"):          "everything: refused before the first test, no file can be made",
    ("space", "no"):           "tests that need more than there is free: refused before they write",
    ("collective", "no"):      "tests of collective calls: fail, their bytes are wrong",
    ("shared pointer", "no"):  "b_eff_io type 1 (shared): fails; beff_noshared=1 runs it without, not for comparison",
    ("atomic", "no"):          "tests of atomic mode: fail",
    ("fsync", "no"):           "sustained-write: no class name, nothing reaches a device",
    ("evict", "no"):           "sustained-read: no class name, caches cannot be emptied; --pario-require-cold fails",
    ("evict", "unknown"):      "sustained-read: no class name, caches not shown to be cold; --pario-require-cold fails",
    ("direct", "no"):          "test_direct, and POSIX rows with direct=1: skipped, no O_DIRECT",
    ("drop_caches", "no"):     "--pario-drop-caches: without effect, needs root",
    ("striping", "unknown"):   "test_resonance: planned for the striping of the study, that of the files is not known",
}
# fmt: on
NO_STORAGE = "performance classes: none has its name, memory is no storage"
FEW_RANKS = "interference of two programs: skipped on fewer than 4 ranks"


def consequences(findings: Sequence[Capability], is_memory: bool = False) -> list[str]:
    """One line for each set of tests that does not run as it would elsewhere, with the reason."""
    told = [NO_STORAGE] if is_memory else []
    told += [MEANS[one.name, one.state] for one in findings if (one.name, one.state) in MEANS]
    return [*told, *_missing_tools(), FEW_RANKS]


def _missing_tools() -> list[str]:
    reasons = {operation: missing_tool(find_tool(operation, "default")) for operation in OPERATIONS}
    return [f"test_interactive[{operation}]: skipped, {reason}" for operation, reason in reasons.items() if reason]
