from __future__ import annotations

import json
from pathlib import Path

from pytest_pario.environment.collectors import COLLECTORS, collect_all, collect_from
from pytest_pario.environment.context import Context
from pytest_pario.environment.facts import KNOWN
from pytest_pario.environment.fingerprint import Fingerprint, Told, differences, mismatches
from tests.unit.environment.answers import Answers


def test_this_machine(tmp_path: Path) -> None:
    made = collect_all(tmp_path, hostnames=["a", "a", "b"], extra={"machine": "test bed"})
    assert made["machine"] == "test bed"
    assert made["ranks"] == 3
    assert set(made) <= set(KNOWN)
    assert "collector_errors" not in made
    assert Fingerprint.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert made.source("filesystem_type") == "/proc/self/mountinfo"


def test_the_same_place_does_not_differ(tmp_path: Path) -> None:
    assert differences(collect_all(tmp_path), collect_all(tmp_path)) == []


def test_an_upgrade_is_a_difference_and_no_mismatch() -> None:
    tools = {"lfs getstripe -d /scratch/bench": "lfs_getstripe_dir"}
    before, after = (
        collect_from(Answers("/scratch/bench", tools=tools, files={"/sys/fs/lustre/version": version}), {})
        for version in ("2.15.5\n", "2.16.1\n")
    )
    assert differences(before, after) == [("lustre_version", "2.15.5", "2.16.1")]
    assert mismatches(before, after) == []
    other = collect_from(Answers("/gpfs/fs1"), {})
    assert [change.name for change in mismatches(before, other)] == ["filesystem_type"]


def test_a_broken_collector_is_recorded_and_stops_nobody() -> None:
    def breaks(context: Context) -> dict[str, Told]:
        raise ZeroDivisionError("no fact")

    def invents(context: Context) -> dict[str, Told]:
        return {"colour": Told("red", "eyes"), "os": Told("Debian", "eyes")}

    def odd(context: Context) -> dict[str, Told]:
        return {"kernel": Told(object(), "eyes")}  # type: ignore[arg-type]

    broken = {"breaks": breaks, "invents": invents, "odd": odd}
    made = collect_from(Answers("/tmp"), {}, {**broken, "mount": COLLECTORS["mount"]})
    assert made["filesystem_type"] == "ext4"
    assert made["os"] == "Debian"
    assert made["collector_errors"] == [
        "breaks: ZeroDivisionError: no fact",
        "invents: not in the table of facts: colour",
        "odd: TypeError: Object of type object is not JSON serializable",
    ]


def test_facts_of_the_site() -> None:
    made = collect_from(Answers("/tmp"), {"rack": 7, "site.row": "C", "polluted": Told(True, "meter")}, {})
    assert dict(made) == {"polluted": True, "site.rack": 7, "site.row": "C"}
    assert (made.source("polluted"), made.source("site.rack")) == ("meter", "given")


def test_slow_tools_are_named(tmp_path: Path) -> None:
    context = Context(tmp_path, timeout_s=0.1)
    context.run("sleep", "9")
    made = collect_from(context, {}, {})
    assert made["collector_errors"] == ["sleep 9: no answer in 0.1 s"]


def test_a_directory_that_is_not_there_yet(tmp_path: Path) -> None:
    assert collect_all(tmp_path / "a" / "b")["directory"] == str(tmp_path.resolve())
