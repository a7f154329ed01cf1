"""The night of a machine as pytest sees it: measure yellow tests again, save, judge, fail what regressed.

Root reads, saves and judges; what it decides is told to all ranks through the hub, so that every rank reports alike.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Generator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

from pytest_pario.errors import ParioError, SessionError
from pytest_pario.options import Options
from pytest_pario.session.keys import OPTIONS, SESSION
from pytest_pario.session.lateness import report_late_failure
from pytest_pario.session.tonight import Tonight, describe_failure

if TYPE_CHECKING:
    from pytest_pario.baseline.judge import Judgement
    from pytest_pario.baseline.store import Night, Shelf
    from pytest_pario.model import Record, Verdict
    from pytest_pario.session.ranked import RankedSession

REGRESSED = 3
"""Exit status of a run whose only failures are confirmed regressions."""
NAME = "pario-nightly"


def join_nightly(config: pytest.Config) -> None:
    """Take part where a night is to be saved or judged, or where one machine has a history already."""
    options, session = config.stash[OPTIONS], config.stash[SESSION]
    told: dict[str, Any] = _choose(options) if session.rank == 0 else {}
    told = session.client.gather("bcast", "machine", told)["data"]
    if told["problem"] is not None:
        session.client.close()
        raise SessionError(told["problem"])
    if told["machine"] is not None:
        # also for tests, which ask for verdicts of their own
        config.stash[OPTIONS] = dataclasses.replace(options, machine=told["machine"])
        begins = bool(options.save or options.machine)
        config.pluginmanager.register(Nightly(config, session, config.stash[OPTIONS], begins), NAME)
    elif session.rank == 0:
        config.pluginmanager.register(Invitation(config, options, told["known"]), "pario-invitation")


def _choose(options: Options) -> dict[str, Any]:
    """Which machine this run belongs to, if any; what cannot be told or written is a problem before anything runs."""
    from pytest_pario.baseline.store import Store, choose_machine, machines

    known = machines(options.store)
    told: dict[str, Any] = {"problem": None, "machine": None, "known": known}
    if not (options.save or options.check or options.machine or len(known) == 1):
        return told
    try:
        told["machine"] = choose_machine(options.store, options.machine)
        store = Store(options.store, told["machine"])
        nights = store.read().nights
        if options.save or (options.machine and not nights):
            store.try_to_write()
    except ParioError as error:
        told["problem"] = str(error)
    return told


class Invitation:
    """Says how a history begins, at the end of a run that measured something and keeps nothing."""

    def __init__(self, config: pytest.Config, options: Options, known: list[str]) -> None:
        """Know the machines that there are."""
        self.config, self.options, self.known = config, options, known

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One line."""
        measured = any(one and one.extra_info.get("moved_bytes") for one in Tonight(self.config).benchmarks())
        if not measured:
            return
        there = f" (there are {', '.join(self.known)})" if self.known else ""
        terminalreporter.section("verdict")
        terminalreporter.write_line(
            f"nothing kept, nothing judged: --pario-machine NAME{there} keeps this machine's nights "
            f"in {self.options.store} and fails tests that regress"
        )


class Nightly:
    """Hooks of one rank."""

    def __init__(self, config: pytest.Config, session: RankedSession, options: Options, begins: bool = True) -> None:
        """Belong to a session; `begins` where a first night is kept without being asked for."""
        self.config, self.session, self.options, self.begins = config, session, options, begins
        self.tonight = Tonight(config)
        self.lines: list[str] = []
        """What root prints below the run."""
        self.regressions = 0
        self.problem: str | None = None
        """Why the night could not be saved or judged."""
        self._again = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """After the last test: measure again, save, judge, and fail what regressed, on all ranks alike."""
        result = yield
        if not self.config.option.collectonly and not session.shouldstop:
            self._measure_again(session)
            told = self._conclude()
            self.regressions = len(told["verdicts"]) + sum(state == "regressed" for _, state, _ in told["failed"])
            for nodeid, _, sentence in told["failed"]:
                item = next(one for one in reversed(session.items) if one.nodeid == nodeid)
                report_late_failure(self.config, item, sentence)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """A status of its own where nothing failed but verdicts; a night that is lost is a failure."""
        if session.exitstatus == pytest.ExitCode.TESTS_FAILED and session.testsfailed == self.regressions:
            session.exitstatus = REGRESSED
        if self.problem and session.exitstatus in (pytest.ExitCode.OK, REGRESSED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed, for the night."""
        self.tonight.note_report(report)

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """A test that is measured again was counted and written to junit before: only a failure replaces that."""
        if not self._again:
            return None
        benchmarks = self.tonight.benchmarks()
        known = len(benchmarks)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        for one in benchmarks[known:]:
            one.extra_info["again"] = True
        for report in reports:
            if self.session.chronicle:
                self.session.chronicle.note(report, ends_phase=True)
        failed = next((report for report in reports if report.failed), None)
        if failed is not None:
            report_late_failure(
                self.config, item, f"measured again: {describe_failure(failed)[1]}", failed.longreprtext
            )
        return True

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what was judged."""
        if self.lines:
            terminalreporter.section("verdict")
            for line in self.lines:
                terminalreporter.write_line(line)

    # --- at the end of the run ----------------------------------------------------------------------------------

    def _measure_again(self, session: pytest.Session) -> None:
        """Yellow tests once more within the time allowed; the new values are kept beside the first."""
        nodeids: list[str] = []
        begun = time.monotonic()
        if self.session.rank == 0 and self.options.remeasure_s > 0:
            nodeids = self._yellow(session)
        for nodeid in self.session.gather("bcast", "tests to measure again", nodeids)["data"]:
            left = time.monotonic() - begun < self.options.remeasure_s
            if not self.session.gather("bcast", f"{nodeid} again", left)["data"]:
                break
            item: Any = next(one for one in session.items if one.nodeid == nodeid)
            item._initrequest()  # fixtures anew, as for a test that is run the first time
            self._again = True
            self.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            self._again = False

    def _yellow(self, session: pytest.Session) -> list[str]:
        from pytest_pario.baseline.series import strip_pass

        judgement = self._judge(self.tonight.night()) if self.shelf.nights else None
        names = {one.fullname for one in judgement.findings if one.state == "yellow"} if judgement else set()
        # what an earlier job has finished is replayed, not measured
        alone = [
            item
            for item in session.items
            if item.get_closest_marker("pario_once") is None and item.nodeid not in self.session.finished
        ]
        last = {strip_pass(item.nodeid): item.nodeid for item in alone}
        return [last[name] for name in sorted(names) if name in last]

    def _conclude(self) -> dict[str, Any]:
        """Save and judge on root; tell all ranks which tests fail, and why."""
        told: dict[str, Any] = {"failed": [], "verdicts": [], "problem": None}
        if self.session.rank == 0:
            night = self.tonight.night()
            told["verdicts"] = sorted(self.tonight.verdicts)
            told["problem"] = self._save(night)
            try:
                told["failed"] = self._fail(night)
            except ParioError as error:
                self.lines.append(str(error))
                told["problem"] = str(error)
        told = self.session.gather("bcast", "verdicts", told)["data"]
        self.problem = told["problem"]
        return told

    def _save(self, night: Night) -> str | None:
        """Keep the night where it is asked for, or where a history begins; returns what went wrong."""
        from pytest_pario.baseline.store import Store

        if not night.samples and not night.failures:
            self.lines.append("no test measured anything: nothing to save, nothing to judge")
            return None
        # a history begins by itself; going on with it is asked for
        if not self.options.save and (self.shelf.nights or not self.begins):
            return None
        try:
            store = Store(self.options.store, self.shelf.machine)
            path = store.save_night(self.tonight.content(), failures=night.failures)
        except ParioError as error:
            journal = self.session.chronicle.path if self.session.chronicle else None
            self.lines.append(f"NOT SAVED: {error}; {journal} has every sample: --pario-resume {journal} --pario-save")
            return str(error)
        failed = f", {len(night.failures)} failed tests" if night.failures else ""
        self.lines.append(f"saved {path} ({len(night.samples)} series{failed})")
        return None

    def _fail(self, night: Night) -> list[tuple[str, str, str]]:
        """Judge the night: (nodeid, state, sentence) of tests that passed so far and must not."""
        from pytest_pario.baseline.series import strip_pass
        from pytest_pario.report.verdicts import sentence_of, terminal_lines

        if not night.samples and not night.failures:
            return []
        if not self.shelf.nights:
            self.lines = [*self._first_lines(), *(f"refused: {one}" for one in self.shelf.refused)]
            return []
        judgement = self._judge(night)
        self.lines += terminal_lines(judgement)
        self._write_down(judgement)
        red = {one.fullname: one for one in judgement.findings if one.state in ("regressed", "damaged")}
        failed = self.tonight.failed_names()
        nodeids = {strip_pass(one.fullname): one.fullname for one in self.tonight.benchmarks() if one}
        return [
            (nodeids[name], one.state, sentence_of(one))
            for name, one in red.items()
            if name in nodeids and name not in failed
        ]

    def _first_lines(self) -> list[str]:
        """What the first run on a new site says of itself."""
        rules, store = self.shelf.rules, self.options.store
        nights = rules.baseline_least + rules.unexplained.nights
        saved = "; ".join(self.lines)
        return [
            f"first night of {self.shelf.machine}: nothing to compare with yet; {saved}",
            f"run the same command with --pario-save every night: from night {nights} on, a test whose bandwidth falls "
            f"and stays down fails; `pario check --store {store}` says the same without running",
        ]

    def _write_down(self, judgement: Judgement) -> None:
        from pytest_pario.report.verdicts import sentence_of

        if self.session.chronicle:
            told = [[one.fullname, one.state, sentence_of(one)] for one in judgement.findings]
            self.session.chronicle.write("verdict", durable=True, findings=told)

    # --- judging ------------------------------------------------------------------------------------------------

    @functools.cached_property
    def shelf(self) -> Shelf:
        """The nights before this one, as they were when first asked for; root's."""
        from pytest_pario.baseline.store import Store, choose_machine

        return Store(self.options.store, choose_machine(self.options.store, self.options.machine)).read()

    def _judge(self, night: Night, *, alone: bool = False) -> Judgement:
        from pytest_pario.baseline.judge import judge

        # tonight is newer than any file that could not be read
        shelf = dataclasses.replace(self.shelf, nights=(*self.shelf.nights, night), unread="")
        return judge(shelf, alone=alone)

    def judge_alone(self, record: Record, nodeid: str) -> Verdict:
        """The verdict of one record while its peers of tonight are still to come."""
        from pytest_pario.baseline.series import read_entry
        from pytest_pario.baseline.store import Night
        from pytest_pario.model import Verdict
        from pytest_pario.plain import plain
        from pytest_pario.report.verdicts import verdict_of

        info = {"ranks": record.n, "moved_bytes": list(record.samples.moved_bytes), "record": plain(record)}
        entry = {"fullname": nodeid, "extra_info": info, "stats": {"data": list(record.samples.elapsed_s)}}
        sample = read_entry(entry)
        if sample is None:
            return Verdict("damaged", f"{record.pattern.name}/{record.phase}: no bytes were moved")
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        judgement = self._judge(Night(Path("tonight"), now, (sample,)), alone=True)
        return verdict_of(judgement.findings[0])
