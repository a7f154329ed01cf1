"""What root keeps of the run: the journal, the running test, and the replay of a resumed journal."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_pario import __version__
from pytest_pario.errors import JournalError
from pytest_pario.session.benchmarks import recall_benchmark, record_benchmark
from pytest_pario.session.client import HubClient
from pytest_pario.session.journal import (
    SCHEMA,
    History,
    Journal,
    JournalLock,
    default_path,
    read_history,
    supervisor_of,
)
from pytest_pario.session.keys import OPTIONS
from pytest_pario.session.longrepr import RanksRepr, abort_report, report_phase
from pytest_pario.session.wire import cut_text

NEXT_PHASE = {"setup": "call", "call": "teardown", "teardown": "teardown"}


class Chronicle:
    """Root's journal and the test that runs now."""

    def __init__(self, config: pytest.Config, client: HubClient, hosts: list[dict[str, Any]]) -> None:
        """Open the journal, or read the one to be resumed."""
        self.config, self.client = config, client
        options = config.stash[OPTIONS]
        self.path = options.journal or default_path(config.rootpath)
        self.supervisor = supervisor_of(self.path, os.environ)
        """Token of the `pario run` above, which holds the lock of the journal and resumes it after this job."""
        self._lock = None if self.supervisor else JournalLock(self.path, resumes=options.resume is not None)
        self.history = self._read(options.resume, len(hosts)) if options.resume else History()
        self.problem: str | None = None
        """Why the journal is not written any more: lines after one that is missing would tell a wrong story."""
        self._journal = Journal(self.path)
        # durable, so that a filesystem that finds room only when it must says so before the first test
        self._journal.write(
            "session",
            durable=True,
            schema=SCHEMA,
            release=__version__,
            ranks=len(hosts),
            processes=hosts,
            argv=sys.argv[1:],
            supervisor=self.supervisor,
        )
        client.tell("journal", path=str(self.path.absolute()))
        self.item: pytest.Item | None = None
        self.phase = "setup"
        self.pytest_session: pytest.Session | None = None
        self._reports: list[pytest.TestReport] = []

    def _read(self, path: Path, ranks: int) -> History:
        history = read_history(path)
        if history.ranks not in (None, ranks):
            raise JournalError(f"journal {path} was written with {history.ranks} ranks; resume it with as many")
        return history

    def write(self, event: str, durable: bool = False, **fields: Any) -> None:
        """Add a line; where that fails `problem` says why, and the ranks stop at their next agreement."""
        if self.problem is None:
            try:
                self._journal.write(event, durable, **fields)
            except JournalError as error:
                self.problem = str(error)

    def begin(self, nodeids: list[str]) -> dict[str, list[list[Any]]]:
        """Note the selection and return, of those selected, the tests that are finished already."""
        self.write("selected", count=len(nodeids))
        return {nodeid: _told(self.history.finished[nodeid]) for nodeid in nodeids if nodeid in self.history.finished}

    def start(self, item: pytest.Item, timeout_s: float) -> None:
        """A test begins."""
        self.item, self.phase, self.pytest_session, self._reports = item, "setup", item.session, []
        self.write("start", nodeid=item.nodeid)
        self.client.tell("test", nodeid=item.nodeid, timeout_s=timeout_s)

    def note(self, report: pytest.TestReport, ends_phase: bool) -> None:
        """Keep a report of the running test; that of a subtest does not end the phase."""
        if self.item is not None and report.nodeid == self.item.nodeid:
            self._reports.append(report)
            self.phase = NEXT_PHASE[report.when] if ends_phase else report.when

    def end(self, item: pytest.Item) -> None:
        """The test is finished: on disk before the next one starts."""
        if not self._reports:  # left by an interruption before any phase was agreed
            return
        outcomes = [report.outcome for report in self._reports]
        outcome = next((one for one in ("failed", "skipped") if one in outcomes), "passed")
        self.write(
            "end",
            durable=True,
            nodeid=item.nodeid,
            outcome=outcome,
            reports=[self._to_plain(report) for report in self._reports],
            benchmark=record_benchmark(self.config, item.nodeid),
        )
        self.item = None

    def _to_plain(self, report: pytest.TestReport) -> dict[str, Any]:
        plain = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        plain["sections"] = [[name, cut_text(text)] for name, text in plain["sections"]]
        if isinstance(report.longrepr, RanksRepr):
            crash = report.longrepr.reprcrash
            place = [str(crash.path), crash.lineno, crash.message] if crash else None
            plain["longrepr"] = None
            return {"report": plain, "parts": report.longrepr.parts, "crash": place}
        return {"report": plain}

    def replay(self, item: pytest.Item) -> list[pytest.TestReport]:
        """Reports of a finished test, as they were."""
        entry = self.history.finished[item.nodeid]
        if "abort" in entry:
            return [abort_report(item, entry["abort"], self.history.ranks or 1)]
        reports = [self._from_plain(one) for one in entry["reports"]]
        recall_benchmark(self.config, item, entry.get("benchmark"))
        return reports

    def _from_plain(self, entry: dict[str, Any]) -> pytest.TestReport:
        plain = dict(entry["report"])
        report: pytest.TestReport = self.config.hook.pytest_report_from_serializable(config=self.config, data=plain)
        if "parts" in entry:
            crash = entry.get("crash")
            longrepr: Any = RanksRepr([(a, b) for a, b in entry["parts"]], tuple(crash) if crash else None)
            report.longrepr = longrepr
        elif isinstance(plain.get("longrepr"), list):  # JSON has no tuples
            skip: Any = tuple(plain["longrepr"])
            report.longrepr = skip
        return report

    def finish(self, exitstatus: int) -> None:
        """The run came to its end."""
        self.write("finish", durable=True, exitstatus=exitstatus)


def _told(entry: dict[str, Any]) -> list[list[Any]]:
    """[phase, outcome, xfail] of each report of a finished test: what the other ranks need for their replay."""
    if "abort" in entry:
        return [[report_phase(entry["abort"]), "failed", None]]
    reports = [one["report"] for one in entry["reports"]]
    return [[report["when"], report["outcome"], report.get("wasxfail")] for report in reports]
