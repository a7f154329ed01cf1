"""What one run knows of tonight: samples of pytest-benchmark, tests that failed, verdicts that tests asked for."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_pario.baseline.store import Failure, Night
    from pytest_pario.model import Verdict

# E       pytest_pario.errors.VerificationError: strided-32k: /scratch/f: 64 wrong bytes, first at offset 0: …
WRONG_BYTES = re.compile(r"\bVerificationError: (.*)")
LONGEST = 400
"""Characters of a sentence that are kept of a failure."""
ASSERTED = 60
"""Characters of a verdict's sentence by which its assertion is known: pytest shortens the middle of long ones."""


class Tonight:
    """Kept while tests run, on every rank; root's is the one that counts."""

    def __init__(self, config: pytest.Config) -> None:
        """Belong to a run."""
        self.config = config
        self.failures: dict[str, tuple[str, str]] = {}
        """Kind and sentence of each test that failed, but for those below."""
        self.verdicts: set[str] = set()
        """Tests that failed because they asserted a verdict which was false; wrong bytes are a failure."""
        self._false: dict[str, Verdict] = {}

    def note_verdict(self, nodeid: str, verdict: Verdict) -> None:
        """A test asked for its verdict."""
        if not verdict:
            self._false[nodeid] = verdict

    def note_report(self, report: pytest.TestReport) -> None:
        """A phase of a test ended."""
        if not report.failed:
            return
        verdict = self._false.get(report.nodeid)
        asserted = verdict is not None and verdict.sentence[:ASSERTED] in report.longreprtext
        if verdict is not None and asserted and verdict.state == "damaged":
            self.failures.setdefault(report.nodeid, ("damaged", verdict.sentence))
        elif asserted:
            self.verdicts.add(report.nodeid)
        else:
            self.failures.setdefault(report.nodeid, describe_failure(report))

    def failed_names(self) -> set[str]:
        """Names, without passes, of tests that are reported as failed already."""
        from pytest_pario.baseline.series import strip_pass

        return {strip_pass(nodeid) for nodeid in (*self.failures, *self.verdicts)}

    def failure_list(self) -> list[Failure]:
        """What a night keeps of them; several passes of a test are one."""
        from pytest_pario.baseline.series import strip_pass
        from pytest_pario.baseline.store import Failure

        found: dict[str, Failure] = {}
        for nodeid, (kind, sentence) in self.failures.items():
            name = strip_pass(nodeid)
            if name not in found or kind == "damaged":
                found[name] = Failure(name, "damaged" if kind == "damaged" else "failed", sentence)
        return list(found.values())

    def benchmarks(self) -> list[Any]:
        """What pytest-benchmark holds."""
        found: list[Any] = getattr(getattr(self.config, "_benchmarksession", None), "benchmarks", [])
        return found

    def entries(self) -> list[dict[str, Any]]:
        """One benchmark per test."""
        from pytest_pario.baseline.store import merge_entries

        kept = [one for one in self.benchmarks() if one and not one.has_error]
        return merge_entries([one.as_dict(include_data=True, flat=False, stats=True) for one in kept])

    def content(self) -> dict[str, Any]:
        """The night as pytest-benchmark would write it."""
        import pytest_benchmark

        benchmarks: Any = getattr(self.config, "_benchmarksession", None)
        return {
            "machine_info": benchmarks.get_machine_info(),
            "commit_info": self.config.hook.pytest_benchmark_generate_commit_info(config=self.config),
            "benchmarks": self.entries(),
            "datetime": datetime.now(timezone.utc).isoformat(),
            "version": pytest_benchmark.__version__,
        }

    def night(self) -> Night:
        """The night as the judge reads it."""
        from pytest_pario.baseline.series import read_entry
        from pytest_pario.baseline.store import Night

        samples = tuple(one for entry in self.entries() if (one := read_entry(entry)) is not None)
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return Night(Path("tonight"), now, samples, tuple(self.failure_list()))


def describe_failure(report: pytest.TestReport) -> tuple[str, str]:
    """Kind and sentence: wrong bytes are told apart from everything else."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message) if crash is not None else report.longreprtext
    wrong = WRONG_BYTES.search(text) or WRONG_BYTES.search(_error_lines(report))
    if wrong:
        return "damaged", wrong[1][:LONGEST]
    return "failed", next((line.strip() for line in text.splitlines() if line.strip()), "no reason told")[:LONGEST]


def _error_lines(report: pytest.TestReport) -> str:
    """The lines that pytest marks as the error: of several ranks each has its own."""
    return "\n".join(line for line in report.longreprtext.splitlines() if line.startswith("E "))
