"""One collection: the ranks compare what they collected and hear of each other's errors."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_pario.session.client import Stopped
from pytest_pario.session.collection import describe_differences, digest, errors_within, first_difference
from pytest_pario.session.limits import phase_limit_s
from pytest_pario.session.longrepr import RanksRepr
from pytest_pario.session.ranked import RankedSession
from pytest_pario.session.ranks import name_ranks
from pytest_pario.session.wire import budget_bytes, cut_text


class Collecting:
    """Hooks of one rank around pytest's collection."""

    def __init__(self, session: RankedSession) -> None:
        """Belong to a session."""
        self.session = session
        self._errors: list[tuple[str, str, str]] = []
        self._collected: list[str] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, Any, Any]:
        """Collect, then make sure that all ranks collected the same and hear of each other's errors."""
        if self.session.rank == 0:
            self.session.client.tell("step", name="collection")
        result = yield
        errors = errors_within(self._errors, budget_bytes(self.session.size))
        reply = self.session.gather("root", "collection", {"digest": digest(self._collected), "errors": errors})
        decision: dict[str, Any] = {}
        if self.session.rank == 0:
            ranks = reply["ranks"]
            decision["compare"] = len({one["digest"] for one in ranks}) > 1 and not any(o["errors"] for o in ranks)
            decision["errors"] = [[rank, *error] for rank, one in enumerate(ranks) for error in one["errors"]]
        decision = self.session.gather("bcast", "collection compared", decision)["data"]
        if decision["compare"]:
            self._refuse_differences()
        self._share_errors(decision["errors"])
        return result

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Let the watchdog interrupt what a module does when it is imported: it becomes an error of that module."""
        with self.session.client.body():
            report = yield
        # no call where another plugin answers, as `--lf` does for modules without failures
        call: pytest.CallInfo[Any] | None = getattr(report, "call", None)
        if call is not None and call.excinfo is not None and isinstance(call.excinfo.value, Stopped):
            self.session.leave(call.excinfo.value)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Note what was collected before anything is deselected; refuse bad markers, skip what needs more ranks."""
        self._collected = [item.nodeid for item in items]
        for item in items:
            phase_limit_s(item, self.session.options)
            ranks = self.session.ranks_of(item)
            if ranks > self.session.size:
                item.add_marker(pytest.mark.skip(reason=f"needs {ranks} ranks, this job has {self.session.size}"))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note collection errors for the other ranks."""
        if report.failed and not getattr(report, "of_other_rank", False):
            text = cut_text(str(report.longrepr))
            told = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
            self._errors.append((report.nodeid, text, told[0] if told else "cannot be collected"))

    def _refuse_differences(self) -> None:
        """Each rank compares itself with root, so that no message has the tests of all ranks."""
        roots = self.session.gather("bcast", "root's tests", self._collected if self.session.rank == 0 else None)[
            "data"
        ]
        difference = first_difference(roots, self._collected)
        reply = self.session.gather("root", "differences", difference and cut_text(difference, 2000))
        sentence = None
        if self.session.rank == 0:
            sentence = describe_differences(dict(enumerate(reply["ranks"])))
        raise pytest.UsageError(self.session.gather("bcast", "collection refused", sentence)["data"])

    def _share_errors(self, errors: list[list[Any]]) -> None:
        """Show on root, and count on all ranks, the collection errors that only some ranks have."""
        known = {error[0] for error in self._errors}
        by_module: dict[str, list[list[Any]]] = {}
        for error in errors:
            if error[1] not in known:
                by_module.setdefault(error[1], []).append(error)
        for nodeid, those in by_module.items():
            ranks = f"{name_ranks(error[0] for error in those)} of {self.session.size}"
            longrepr: Any = RanksRepr([(ranks, those[0][2])], (nodeid, 0, f"{ranks}: {those[0][3]}"))
            report = pytest.CollectReport(nodeid=nodeid, outcome="failed", longrepr=longrepr, result=[])
            setattr(report, "of_other_rank", True)  # noqa: B010 - not in pytest's types
            self.session.config.hook.pytest_collectreport(report=report)
