"""Fail a test after it was reported: its verdict needs all other tests of the night, so it comes last."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_pario.session.longrepr import RanksRepr


def report_late_failure(config: pytest.Config, item: pytest.Item, sentence: str, text: str = "") -> None:
    """Replace the passed report of a test by a failed one, in the terminal's counts and in junit's file too.

    `text` is what there is to say beyond the sentence, such as a traceback.
    """
    place = (str(item.location[0]), int(item.location[1] or 0), sentence)
    longrepr: Any = RanksRepr([("measured again", text) if text else ("verdict", sentence)], place)
    report = pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords=dict.fromkeys(item.keywords, 1),
        outcome="failed",
        longrepr=longrepr,
        when="call",
    )
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and "passed" in terminal.stats:
        terminal.stats["passed"] = [one for one in terminal.stats["passed"] if one.nodeid != item.nodeid]
    _forget_in_junit(config, report)
    item.ihook.pytest_runtest_logreport(report=report)


def _forget_in_junit(config: pytest.Config, report: pytest.TestReport) -> None:
    """Take the finished <testcase> of the test out, for logging a report again begins a second one."""
    xml = next((one for one in config.pluginmanager.get_plugins() if type(one).__name__ == "LogXML"), None)
    if xml is None:
        return
    from _pytest.junitxml import mangle_test_address

    names = mangle_test_address(report.nodeid)
    prefix = [xml.prefix] if xml.prefix else []  # --junit-prefix; a finished reporter has nothing but its element
    wanted = (".".join([*prefix, *names[:-1]]), names[-1])
    kept = []
    for reporter in xml.node_reporters_ordered:
        case = reporter.to_xml()
        if (case.get("classname"), case.get("name")) == wanted and not len(case.findall("failure")):
            xml.stats["passed"] -= 1
        else:
            kept.append(reporter)
    xml.node_reporters_ordered[:] = kept
