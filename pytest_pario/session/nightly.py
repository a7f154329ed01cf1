"""The night of a machine as pytest sees it: measure yellow tests again, save, judge, fail what regressed.

Root reads, saves and judges; what it decides is told to all ranks through the hub, so that every rank reports alike.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_pario.errors import ParioError, SessionError
from pytest_pario.options import Options
from pytest_pario.session.keys import OPTIONS, SESSION
from pytest_pario.session.lateness import report_late_failure

if TYPE_CHECKING:
    from pytest_pario.baseline.judge import Judgement
    from pytest_pario.baseline.store import Night, Shelf
    from pytest_pario.model import Record, Verdict
    from pytest_pario.session.ranked import RankedSession

REGRESSED = 3
"""Exit status of a run whose only failures are confirmed regressions."""


def join_nightly(config: pytest.Config) -> None:
    """Take part where a night is to be saved or judged; a machine that cannot be told is an error at once."""
    options, session = config.stash[OPTIONS], config.stash[SESSION]
    if not (options.save or options.check or options.machine):
        return
    problem = None
    if session.rank == 0:
        from pytest_pario.baseline.store import Store, choose_machine

        try:
            Store(options.store, choose_machine(options.store, options.machine))
        except ParioError as error:
            problem = str(error)
    problem = session.client.gather("bcast", "machine", problem)["data"]
    if problem is not None:
        session.client.close()
        raise SessionError(problem)
    config.pluginmanager.register(Nightly(config, session, options), "pario-nightly")


class Nightly:
    """Hooks of one rank."""

    def __init__(self, config: pytest.Config, session: RankedSession, options: Options) -> None:
        """Belong to a session."""
        self.config, self.session, self.options = config, session, options
        self.lines: list[str] = []
        """What root prints below the run."""
        self.regressions = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """After the last test: measure again, save, judge, and fail what regressed, on all ranks alike."""
        result = yield
        if not self.config.option.collectonly and not session.shouldstop:
            self._measure_again(session)
            for nodeid, sentence in self._conclude()["failed"]:
                item = next(one for one in reversed(session.items) if one.nodeid == nodeid)
                report_late_failure(self.config, item, sentence)
                self.regressions += 1
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """A status of its own where nothing failed but verdicts."""
        if session.exitstatus == pytest.ExitCode.TESTS_FAILED and session.testsfailed == self.regressions:
            session.exitstatus = REGRESSED
        return (yield)

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
            benchmarks = self._benchmarks()
            known = len(benchmarks)
            item._initrequest()  # fixtures anew, as for a test that is run the first time
            self.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            for one in benchmarks[known:]:
                one.extra_info["again"] = True

    def _yellow(self, session: pytest.Session) -> list[str]:
        from pytest_pario.baseline.series import strip_pass

        shelf = self._shelf()
        judgement = self._judge(shelf, self._tonight()) if shelf.nights else None
        names = {one.fullname for one in judgement.findings if one.state == "yellow"} if judgement else set()
        alone = [item for item in session.items if item.get_closest_marker("pario_once") is None]
        last = {strip_pass(item.nodeid): item.nodeid for item in alone}
        return [last[name] for name in sorted(names) if name in last]

    def _conclude(self) -> dict[str, Any]:
        """Save and judge on root; tell all ranks which tests fail, and why."""
        told: dict[str, Any] = {"failed": [], "problem": None}
        if self.session.rank == 0:
            try:
                told["failed"] = self._save_and_judge()
            except ParioError as error:
                told["problem"] = str(error)
        told = self.session.gather("bcast", "verdicts", told)["data"]
        if told["problem"]:
            raise pytest.UsageError(told["problem"])
        return told

    def _save_and_judge(self) -> list[tuple[str, str]]:
        from pytest_pario.baseline.series import strip_pass
        from pytest_pario.baseline.store import Store
        from pytest_pario.report.verdicts import sentence_of, terminal_lines

        before, tonight = self._shelf(), self._tonight()
        if not tonight.samples:
            self.lines = ["no test measured anything: nothing to save, nothing to judge"]
            return []
        # a history begins by itself; going on with it is asked for
        if self.options.save or not before.nights:
            path = Store(self.options.store, before.machine).save_night(self._content())
            self.lines.append(f"saved {path} ({len(tonight.samples)} series)")
        if not before.nights:
            self.lines = [
                *_first_lines(before, self.lines, self.options),
                *(f"refused: {one}" for one in before.refused),
            ]
            return []
        judgement = self._judge(before, tonight)
        self.lines += terminal_lines(judgement)
        self._write_down(judgement)
        red = {one.fullname: sentence_of(one) for one in judgement.findings if one.state in ("regressed", "damaged")}
        nodeids = {strip_pass(one.fullname): one.fullname for one in self._benchmarks() if one}
        return [(nodeids[name], sentence) for name, sentence in red.items() if name in nodeids]

    def _judge(self, shelf: Shelf, tonight: Night) -> Judgement:
        import dataclasses

        from pytest_pario.baseline.judge import judge

        return judge(dataclasses.replace(shelf, nights=(*shelf.nights, tonight)))

    def _write_down(self, judgement: Judgement) -> None:
        from pytest_pario.report.verdicts import sentence_of

        if self.session.chronicle:
            told = [[one.fullname, one.state, sentence_of(one)] for one in judgement.findings]
            self.session.chronicle.journal.write("verdict", durable=True, findings=told)

    # --- tonight ------------------------------------------------------------------------------------------------

    def _shelf(self) -> Shelf:
        from pytest_pario.baseline.store import Store, choose_machine

        return Store(self.options.store, choose_machine(self.options.store, self.options.machine)).read()

    def _benchmarks(self) -> list[Any]:
        benchmarks: list[Any] = getattr(getattr(self.config, "_benchmarksession", None), "benchmarks", [])
        return benchmarks

    def _entries(self) -> list[dict[str, Any]]:
        from pytest_pario.baseline.store import merge_entries

        return merge_entries(
            [
                one.as_dict(include_data=True, flat=False, stats=True)
                for one in self._benchmarks()
                if one and not one.has_error
            ]
        )

    def _content(self) -> dict[str, Any]:
        import pytest_benchmark

        benchmarks: Any = getattr(self.config, "_benchmarksession", None)
        return {
            "machine_info": benchmarks.get_machine_info(),
            "commit_info": self.config.hook.pytest_benchmark_generate_commit_info(config=self.config),
            "benchmarks": self._entries(),
            "datetime": datetime.now(timezone.utc).isoformat(),
            "version": pytest_benchmark.__version__,
        }

    def _tonight(self) -> Night:
        from pytest_pario.baseline.series import read_entry
        from pytest_pario.baseline.store import Night

        samples = tuple(one for entry in self._entries() if (one := read_entry(entry)) is not None)
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return Night(Path("tonight"), now, samples)


def judge_alone(options: Options, record: Record, nodeid: str) -> Verdict:
    """The verdict of one record while its peers of tonight are still to come."""
    import dataclasses

    from pytest_pario.baseline.judge import judge
    from pytest_pario.baseline.series import read_entry
    from pytest_pario.baseline.store import Night, Store, choose_machine
    from pytest_pario.model import Verdict
    from pytest_pario.plain import plain
    from pytest_pario.report.verdicts import verdict_of

    if not options.machine and not options.save and not options.check:
        return Verdict(
            "learning",
            f"{record.pattern.name}/{record.phase}: no machine is named (--pario-machine), nothing to compare with",
        )
    info = {"ranks": record.n, "moved_bytes": list(record.samples.moved_bytes), "record": plain(record)}
    entry = {"fullname": nodeid, "extra_info": info, "stats": {"data": list(record.samples.elapsed_s)}}
    sample = read_entry(entry)
    shelf = Store(options.store, choose_machine(options.store, options.machine)).read()
    if sample is None:
        return Verdict("damaged", f"{record.pattern.name}/{record.phase}: no bytes were moved")
    tonight = Night(Path("tonight"), datetime.now(timezone.utc).isoformat(timespec="seconds"), (sample,))
    judgement = judge(dataclasses.replace(shelf, nights=(*shelf.nights, tonight)), alone=True)
    return verdict_of(judgement.findings[0])


def _first_lines(shelf: Shelf, saved: list[str], options: Options) -> list[str]:
    """What the first run on a new site says of itself."""
    from pytest_pario.baseline.rules import DEFAULT

    nights = DEFAULT.baseline_least + DEFAULT.unexplained.nights
    return [
        f"first night of {shelf.machine}: nothing to compare with yet; {saved[0]}",
        f"run the same command with --pario-save every night: from night {nights} on, a test whose bandwidth falls and "
        f"stays down fails; `pario check --store {options.store}` says the same without running",
    ]
