"""Root's last act when the job cannot go on: report the running test as failed and write every report.

It runs in the alarm thread while the main thread is stuck inside MPI or in a test, so it touches nothing that waits
for other ranks: fixtures are not torn down, MPI is not called.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_pario.session.longrepr import abort_report

if TYPE_CHECKING:
    from pytest_pario.session.ranked import RankedSession

KILL_S = 0.5
"""A launcher that kills all ranks when one dies does it in this time; half a report would only confuse."""

FORWARD_S = 1.0
"""MPICH's mpiexec drops at an abort what it has not yet forwarded; it gets this time to do so."""


class LastAct:
    """Performed once, by root."""

    def __init__(self, session: RankedSession) -> None:
        """Belong to a session."""
        self.session = session

    def say(self, text: str) -> None:
        """One line on root's terminal about what other ranks or signals did."""
        reporter: Any = self.session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(f"pario: {text}", red=True)

    def outlive_hub(self) -> None:
        """Say that the hub is gone, which can say nothing itself, and write it down before the job ends."""
        chronicle, hub = self.session.chronicle, self.session.hub
        if chronicle is None or hub is None:
            return
        self._stop_capturing(self.session.config)
        told = f"the hub process (pid {hub.pid}) is gone, and without it no rank is watched: the job ends"
        nodeid = chronicle.item.nodeid if chronicle.item else None
        if nodeid:
            told += f"; {nodeid} was running and need not be the cause"
        chronicle.write(
            "abort",
            durable=True,
            nodeid=nodeid,
            phase=chronicle.phase,
            diagnosis=told,
            stacks="",
            failures=[],
            stop=None,
            dead=None,
        )
        resume = "" if chronicle.supervisor else f"\npario: go on with --pario-resume {chronicle.path}"
        # what was printed so far may still be in a buffer, which the main thread may hold
        os.write(2, f"\npario: {chronicle.problem or told}{resume}\n".encode())
        time.sleep(FORWARD_S)

    def perform(self, order: dict[str, Any]) -> None:
        """Write down how the job ended."""
        config = self.session.config
        chronicle = self.session.chronicle
        if chronicle is None:
            return
        if order["dead"] is not None:
            time.sleep(KILL_S)
        captured = self._stop_capturing(config)
        if chronicle.item is None and not order.get("stop"):
            self.say("\n".join(filter(None, (order["diagnosis"], order["stacks"]))))
        if chronicle.supervisor and not order.get("stop"):
            return  # the next job reports this one's tests too
        item, session = chronicle.item, chronicle.pytest_session
        if order.get("stop"):
            self.say(order["diagnosis"])
            self._note_interrupt(order["stop"])
        elif item is not None:
            report = abort_report(item, {**order, "phase": chronicle.phase}, self.session.size, captured)
            item.ihook.pytest_runtest_logreport(report=report)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if session is not None:
            session._setupstate.stack.clear()
            session.exitstatus = order["status"]
            config.pluginmanager.unregister(self.session)  # its wrapper of the next hook meets the other ranks
            config.hook.pytest_sessionfinish(session=session, exitstatus=order["status"])
        if not chronicle.supervisor:
            self.say(f"the job ended early; go on with --pario-resume {chronicle.path}")
        sys.stdout.flush()

    def _stop_capturing(self, config: pytest.Config) -> list[tuple[str, str]]:
        manager: Any = config.pluginmanager.get_plugin("capturemanager")
        if getattr(manager, "_global_capturing", None) is None:  # an interruption has stopped it already
            return []
        manager.suspend_global_capture(in_=True)
        out, err = manager.read_global_capture()
        return [("stdout", out), ("stderr", err)]

    def _note_interrupt(self, reason: str) -> None:
        try:
            raise pytest.exit.Exception(reason)
        except pytest.exit.Exception:
            excinfo = pytest.ExceptionInfo.from_current()
        self.session.config.hook.pytest_keyboard_interrupt(excinfo=excinfo)
