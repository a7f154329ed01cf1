"""The page of a night: whole, closed in itself, what is wrong first."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from pathlib import Path

from pytest_pario.baseline.store import Failure
from pytest_pario.cli import main
from pytest_pario.report.page import sparkline
from tests.unit.baseline.nights import content, entry, save_nights


class Tags(HTMLParser):
    """Tags that are still open, and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(path: Path) -> Tags:
    tags = Tags()
    tags.feed(path.read_text())
    assert tags.open == []
    assert tags.links == []
    return tags


def test_a_regression_stands_first_with_what_changed(tmp_path: Path) -> None:
    save_nights(
        tmp_path,
        30,
        lambda night, test: 0.7 if test == 2 and night >= 26 else 1.0,
        lambda night: {"kernel": "6.2<b>" if night >= 26 else "6.1"},
    )
    assert main(["page", str(tmp_path / "p.html"), "--store", str(tmp_path)]) == 3
    told = " ".join(read(tmp_path / "p.html").texts)
    assert told.index("p2/read") < told.index("p0@")
    assert "kernel: 6.1 -> 6.2<b>" in told  # escaped in the file, so a text and no tag
    assert (tmp_path / "p.html").read_text().count("<svg") == 6


def test_a_quiet_night_has_nothing_to_look_at(tmp_path: Path) -> None:
    save_nights(tmp_path, 30)
    assert main(["page", str(tmp_path / "p.html"), "--store", str(tmp_path)]) == 0
    assert "To look at" not in (tmp_path / "p.html").read_text()
    assert main(["page", str(tmp_path / "none" / "p.html"), "--store", str(tmp_path)]) == 2


def test_a_page_is_not_green_where_something_failed_or_could_not_be_read(tmp_path: Path) -> None:
    store = save_nights(tmp_path, 20)
    page = tmp_path / "p.html"
    names = [f"p{k}" for k in range(5)]
    failure = Failure("suites/test_it.py::test[p9]", "failed", "rank 2: MPI error")
    store.save_night(content([entry(name, [500.0]) for name in names]), failures=[failure])
    assert main(["page", str(page), "--store", str(tmp_path)]) == 1
    told = page.read_text()
    assert 'class="verdict bad"' in told
    assert "failed: suites/test_it.py::test[p9]: rank 2: MPI error" in told
    assert "not measured on this night: p5@" in told
    max((tmp_path / "box").glob("*.json")).write_text("{")
    assert main(["page", str(page), "--store", str(tmp_path)]) == 4
    assert 'class="verdict none"' in page.read_text()
    assert "the newest night could not be read" in page.read_text()


def test_a_curve_has_gaps_where_nights_are_missing() -> None:
    assert sparkline([1.0, 2.0, math.nan, 1.5, 1.0], 1.8).count("<polyline") == 2
    assert sparkline([math.nan]) == ""
