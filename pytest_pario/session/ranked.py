"""The session of all ranks as pytest sees it: one collection, one outcome per phase, one exit status."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from pytest_pario import mpi
from pytest_pario.errors import RemoteTaskError
from pytest_pario.session import voice
from pytest_pario.session.benchmarks import adopt_benchmark, bandwidth_lines
from pytest_pario.session.chronicle import Chronicle
from pytest_pario.session.client import HubClient, Stopped
from pytest_pario.session.communicators import Communicators
from pytest_pario.session.fingerprints import Fingerprints
from pytest_pario.session.keys import OPTIONS
from pytest_pario.session.lastact import LastAct
from pytest_pario.session.limits import phase_limit_s
from pytest_pario.session.longrepr import RanksRepr
from pytest_pario.session.outcome import IDLE, Merged, RankOutcome, merge
from pytest_pario.session.wire import budget_bytes, cut_text

RAISED = 1
"""Exit status of a Python that an exception ended."""

UNTOLD = "failed on other ranks; root reports it"


class RankedSession:
    """Hooks of one rank. What every rank does alike stands here; what only root writes is in its Chronicle."""

    def __init__(
        self,
        config: pytest.Config,
        client: HubClient,
        hosts: list[dict[str, Any]],
        hub: subprocess.Popen[str] | None,
        chronicle: Chronicle | None,
    ) -> None:
        """Take over the joined client."""
        self.config, self.client, self.hosts, self.hub = config, client, hosts, hub
        self.options = config.stash[OPTIONS]
        self.rank, self.size = client.rank, len(hosts)
        self.communicators = Communicators(mpi.load().COMM_WORLD)
        self.chronicle = chronicle
        self.last_act = LastAct(self)
        self.client.on_end = self.last_act.perform
        self.client.on_abort = mpi.abort
        self.client.on_lost = self.last_act.outlive_hub
        self.exhausted: str | None = None
        """Why this job can run no other test, where a new one could."""
        self.why: str | None = None
        """Why this rank leaves the session early, where it does."""
        self.finished: dict[str, list[list[Any]]] = {}
        """Tests that a resumed journal has as finished: nodeid -> [phase, outcome, xfail] of each report."""
        self.remote_sections: list[tuple[str, str]] = []
        self.in_phase, self.subtests = False, 0
        self.failed = self.any_failed = False
        """Whether the running test has failed, and whether any has."""
        self.fingerprints = Fingerprints(config, hosts)
        seed = self.options.seed
        # a new one for every run: data that were written before must not pass for today's
        drawn = secrets.randbits(31) if seed is None else seed
        self.seed: int = client.gather("bcast", "seed", drawn)["data"]

    # --- agreement ----------------------------------------------------------------------------------------------

    def gather(self, kind: str, label: str, data: Any = None) -> dict[str, Any]:
        """Meet the other ranks; when the session is to stop, leave pytest's loop on all ranks alike."""
        try:
            return self.client.gather(kind, label, data, self._halt())
        except Stopped as stopped:
            self.leave(stopped)
            raise  # not reached: leave raises

    def _halt(self) -> dict[str, Any] | None:
        """Why no further test can run here; told at the next meeting, so that no rank waits for another inside MPI."""
        if self.exhausted:
            return {"why": self.exhausted, "again": True}
        if self.chronicle and self.chronicle.problem:
            return {"why": self.chronicle.problem}
        return None

    def leave(self, stopped: Stopped) -> None:
        """Leave pytest's loop as a user's `pytest.exit` would."""
        raise pytest.exit.Exception(str(stopped), returncode=2) from None

    # --- start and selection ------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Undo what other plugins set up when they were configured."""
        if self.chronicle:
            self.chronicle.pytest_session = session
        if self.rank > 0:
            voice.forget_state(self.config)

    def pytest_report_header(self) -> list[str]:
        """Say on one line who runs."""
        hosts = len({host["host"] for host in self.hosts})
        ranks = f"{self.size} rank{'s' if self.size > 1 else ''} on {hosts} host{'s' if hosts > 1 else ''}"
        journal = f"journal {self.chronicle.path}" if self.chronicle else ""
        return [f"pario: {ranks}, {mpi.library_version()}, limit {self.options.timeout_s:g} s a phase, {journal}"]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Run root's selection in root's order, for `--lf` and its like know only root's cache."""
        broken = session.testsfailed and not self.config.option.continue_on_collection_errors
        if not self.config.option.collectonly and not broken:
            selection: dict[str, Any] = {}
            if self.chronicle:
                nodeids = [item.nodeid for item in session.items]
                selection = {"nodeids": nodeids, "finished": self.chronicle.begin(nodeids)}
            selection = self.gather("bcast", "selection", selection)["data"]
            by_nodeid = {item.nodeid: item for item in session.items}
            missing = [nodeid for nodeid in selection["nodeids"] if nodeid not in by_nodeid]
            if missing:
                raise pytest.UsageError(f"rank {self.rank} has not selected {missing[0]}, which root is going to run")
            session.items[:] = [by_nodeid[nodeid] for nodeid in selection["nodeids"]]
            self.finished = selection["finished"]
            if self.chronicle:
                self.client.tell("step", name="before the first test")
        return (yield)

    # --- one test -----------------------------------------------------------------------------------------------

    def ranks_of(self, item: pytest.Item) -> int:
        """How many ranks a test runs on."""
        marker = item.get_closest_marker("pario_ranks")
        if marker is None:
            return self.size
        count = marker.args[0] if len(marker.args) == 1 else None
        if not isinstance(count, int) or count < 1:
            raise pytest.UsageError(f"{item.nodeid}: pario_ranks takes one whole number of ranks, 1 or more")
        return count

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Announce the test to the watchdog, keep its story, and replace communicators that a failure spoiled."""
        if item.nodeid in self.finished:
            return (yield)
        self.remote_sections, self.failed, self.subtests = [], False, 0
        if self.chronicle:
            self.chronicle.start(item, phase_limit_s(item, self.options))
        result = yield
        try:
            if self.failed:
                self.exhausted = self.communicators.renew()
                self.gather("bcast", "new communicators")
        finally:
            # a test that failed when there were no communicators may have failed for that: it runs again
            if self.chronicle and not self.exhausted:
                self.chronicle.end(item)
        return result

    @pytest.hookimpl(tryfirst=True, specname="pytest_runtest_protocol")
    def pytest_pario_sit_out(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Replay a finished test, or sit one out that this rank has no part in."""
        if item.nodeid in self.finished:
            self._replay(item)
            return True
        if self.rank < self.ranks_of(item) or self.ranks_of(item) > self.size:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for phase in ("setup", "call"):
            report = self._report(item, phase)
            self._agree(report, RankOutcome(self.rank, IDLE))
            item.ihook.pytest_runtest_logreport(report=report)
            if not report.passed:
                break
        self._tear_down_wider_fixtures(item, nextitem)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _tear_down_wider_fixtures(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Fixtures of module or session scope that earlier tests set up end where `item` ends on other ranks."""
        call = pytest.CallInfo.from_call(
            lambda: item.session._setupstate.teardown_exact(nextitem),
            when="teardown",
            reraise=(pytest.exit.Exception, KeyboardInterrupt),
        )
        report = pytest.TestReport.from_item_and_call(item, call)
        self._agree(report, self._outcome(report, call))
        item.ihook.pytest_runtest_logreport(report=report)

    def _replay(self, item: pytest.Item) -> None:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        if self.chronicle:
            reports = self.chronicle.replay(item)
        else:
            reports = []
            for phase, outcome, xfail in self.finished[item.nodeid]:
                report = self._report(item, phase)
                self._take(report, Merged(outcome, xfail))
                reports.append(report)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, Any]:
        """Let the watchdog interrupt setup."""
        with self._phase():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Let the watchdog interrupt the test."""
        with self._phase():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Generator[None, Any, Any]:
        """Let the watchdog interrupt teardown."""
        with self._phase():
            return (yield)

    @contextlib.contextmanager
    def _phase(self) -> Iterator[None]:
        """A report that is made in here is one of a subtest: that of the phase is made behind it."""
        self.subtests, self.in_phase = 0, True
        try:
            with self.client.body():
                yield
        finally:
            self.in_phase = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Merge the outcome of this phase over all ranks; this wrapper is the outermost."""
        if call.excinfo is not None and isinstance(call.excinfo.value, Stopped):
            self.leave(call.excinfo.value)
        report = yield
        self.subtests += self.in_phase
        self._agree(report, self._outcome(report, call))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep root's reports for the journal."""
        if self.chronicle:
            self.chronicle.note(report, ends_phase=not self.in_phase)

    def _outcome(self, report: pytest.TestReport, call: pytest.CallInfo[None]) -> RankOutcome:
        text, crash = "", None
        if not report.passed:
            text = cut_text(str(report.longrepr))
            place = getattr(report.longrepr, "reprcrash", None)
            if isinstance(report.longrepr, tuple):
                text = cut_text(report.longrepr[2].removeprefix("Skipped: "))
                crash = (str(report.longrepr[0]), int(report.longrepr[1]), text)
            elif place is not None:
                crash = (place.path, place.lineno, cut_text(place.message, 2000))
        return RankOutcome(
            self.rank,
            report.outcome,
            text,
            crash,
            getattr(report, "wasxfail", None),
            text.startswith("[XPASS(strict)]"),
            call.excinfo is not None and isinstance(call.excinfo.value, RemoteTaskError),
            [(name, cut_text(output)) for name, output in report.sections if name.endswith(report.when)],
            0 if self.in_phase else self.subtests,
        ).within(budget_bytes(self.size))

    def _agree(self, report: pytest.TestReport, mine: RankOutcome) -> None:
        kind = "subtest" if self.in_phase else "phase"
        reply = self.gather(kind, f"{report.nodeid} [{report.when}]", mine.to_wire())
        merged = Merged(reply["outcome"], reply["xfail"])
        if self.rank == 0:
            ranks = [RankOutcome.from_wire(one) for one in reply["ranks"]]
            merged = merge(ranks, self.size)
            self.remote_sections += [
                (f"{name} [rank {one.rank}]", output) for one in ranks if one.rank for name, output in one.sections
            ]
        if self.size > 1:
            self._take(report, merged)
        self.failed = self.failed or report.failed
        self.any_failed = self.any_failed or report.failed

    def _take(self, report: pytest.TestReport, merged: Merged) -> None:
        """Make the report tell the merged outcome."""
        differs = report.outcome != merged.outcome or getattr(report, "wasxfail", None) != merged.xfail
        report.outcome = merged.outcome  # type: ignore[assignment]
        if merged.xfail is not None:
            report.wasxfail = merged.xfail
        elif hasattr(report, "wasxfail"):
            del report.wasxfail  # root's own; junit would call the failure of another rank a skip
        if merged.outcome == "failed" or differs:
            report.longrepr = self._longrepr(report, merged)
        if merged.outcome == "failed" and self.remote_sections:
            own = [(f"{name} [rank 0]", output) for name, output in report.sections]
            report.sections = own + self.remote_sections

    def _longrepr(self, report: pytest.TestReport, merged: Merged) -> Any:
        if merged.outcome == "passed":
            return None
        if merged.outcome == "skipped" and merged.xfail is None:
            return (str(report.fspath), 0, UNTOLD)
        return RanksRepr(merged.parts, merged.crash) if merged.parts else UNTOLD

    def _report(self, item: pytest.Item, phase: str) -> pytest.TestReport:
        """An empty report of a rank that does not run the phase itself."""
        return pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords=dict.fromkeys(item.keywords, 1),
            outcome="passed",
            longrepr=None,
            when=phase,  # type: ignore[arg-type]
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """Let `benchmark` of a test under several ranks agree on its rounds."""
        value = yield
        if fixturedef.argname == "benchmark" and self.size > 1:
            adopt_benchmark(value, self.communicators.first(self.ranks_of(request.node)))
        return value

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show bandwidths as such."""
        lines = bandwidth_lines(self.config)
        if lines:
            terminalreporter.section("bandwidth")
            for line in lines:
                terminalreporter.write_line(line)

    # --- the end ------------------------------------------------------------------------------------------------

    def pytest_internalerror(self, excrepr: object) -> None:
        """Remember for the other ranks."""
        self.why = cut_text(f"internal error\n{excrepr}")

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Remember for the other ranks, unless they told us."""
        self.why = f"{excinfo.typename}: {excinfo.value}".removesuffix(": ")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, Any, Any]:
        """Leave with one exit status; root tells what happened on other ranks and closes the journal."""
        if session.exitstatus == pytest.ExitCode.USAGE_ERROR and self.why is None:
            self.why = f"usage error: {sys.exc_info()[1] or 'see above'}"
        why, halt = self.why, self._halt()
        if why is None and halt:  # met after the last agreement about a test
            why, session.exitstatus = halt["why"], pytest.ExitCode.INTERRUPTED
        reply = self.gather("exit", "exit status", {"status": int(session.exitstatus), "why": why})
        session.exitstatus = reply["status"]
        self._tell_stop(reply.get("stop"))
        try:
            result = yield
        except BaseException as error:
            self._agree_on_end(session, {"status": status_of(error), "raised": True})
            raise
        self._agree_on_end(session, {"status": int(session.exitstatus)})
        return result

    def _tell_stop(self, stop: str | None) -> None:
        """Say on root why the session stopped, unless pytest does: it prints why root itself leaves."""
        own = self.why or "Exit"
        if stop and self.rank == 0 and own not in stop and stop not in own:
            self.last_act.say(stop)

    def _agree_on_end(self, session: pytest.Session, mine: dict[str, Any]) -> None:
        """Once more one exit status: writing the reports may have failed, as `--benchmark-compare-fail` does."""
        session.exitstatus = self.gather("exit", "reports written", mine)["status"]
        if self.chronicle:
            known = self.chronicle.problem
            self.chronicle.finish(int(session.exitstatus))
            if self.chronicle.problem != known:
                self.last_act.say(str(self.chronicle.problem))
            if self._halt() and not self.chronicle.supervisor:
                path = self.chronicle.path
                self.last_act.say(f"finished tests are in {path}; go on with --pario-resume {path}")

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Go together, so that no rank's exit status makes the launcher kill another that still writes."""
        if self.rank > 0 and not self.any_failed:
            voice.remove_basetemp(self.config)
        self.client.close()
        self.client.unwatch()
        if self.hub is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.hub.wait(timeout=5)


def status_of(error: BaseException) -> int:
    """The exit status that pytest gives a run whose reports could not be written."""
    if isinstance(error, pytest.exit.Exception) and error.returncode is not None:
        return int(error.returncode)
    return int(pytest.ExitCode.USAGE_ERROR) if isinstance(error, pytest.UsageError) else RAISED
