"""A real distributed filesystem with a client on every node: right bytes pass, an upgrade that breaks them does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_pario.session.journal import read_entries
from tests.beds.gluster import Bed, gluster, missing_reason
from tests.beds.nodes import run_on_nodes

pytestmark = [pytest.mark.xdist_group("beds"), pytest.mark.rootonly, pytest.mark.slow, pytest.mark.on_disk]

NODES = ("node1", "node2")

SUITE = """
import pytest
from pytest_pario.model import Pattern
from pytest_pario.patterns import Segmented, Strided

ROWS = [
    Pattern("segmented", Segmented(4 << 20, (1 << 20,) * 4), pointer="explicit"),
    Pattern("interleaved", Strided(8192, per_call=64, ncalls=4)),
    Pattern("collective", Strided(8192, per_call=64, ncalls=4), coll=True),
]

@pytest.mark.parametrize("phase", ["write", "rewrite", "read"])
@pytest.mark.parametrize("pattern", ROWS, ids=lambda row: row.name)
def test_bytes(pattern, phase, pario):
    pario.run(pattern, phase, rounds=2, warmup_rounds=0, cross=phase == "write")
"""

Start = Callable[..., Bed]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    reason = missing_reason()
    if reason:
        pytest.skip(reason)
    with ExitStack() as stack:
        yield lambda **how: stack.enter_context(gluster(tmp_path, NODES, **how))


def run(bed: Bed, *arguments: str) -> tuple[dict[str, int], str]:
    directory = bed.place / "site"
    (directory / "shared").mkdir(parents=True)
    (directory / "test_g.py").write_text(SUITE)
    shared = directory / "shared"
    job = run_on_nodes(bed.clients, shared, 2, directory, "test_g.py", f"--pario-dir={shared}", "-q", *arguments)
    return job.counts(), job.output


def test_coherent_clients_give_right_bytes_and_say_what_they_are(start: Start) -> None:
    """GEN-04, GEN-14, CONS-48: verified across nodes; reads of a filesystem with servers are never called cold.

    Without data sieving, whose read and write back of others' bytes was once seen to lose some here, too.
    """
    bed = start()
    counts, output = run(bed, "--pario-journal=j.jsonl", "--pario-param", "romio_ds_write=disable")
    assert counts == {"passed": 9}, output
    journal = read_entries(bed.place / "site" / "j.jsonl")
    entries = [kept["extra_info"]["record"] for one in journal for kept in one.get("benchmark") or ()]
    assert len(entries) == 9
    facts = entries[0]["fingerprint"]
    assert facts["filesystem_type"] == "fuse.glusterfs"
    assert facts["gluster_version"]
    assert facts["ranks_per_node"] == 2
    assert sorted(facts["hostnames"]) == list(NODES)
    states = {one["facts"]["cache"]["state"] for one in entries if one["phase"] == "read"}
    assert states <= {"client-cold", "unknown"}
    assert list(bed.clients["node1"].iterdir()) == []


def test_clients_with_caches_of_their_own_are_caught(start: Start) -> None:
    """GEN-04: data sieving through two page caches loses neighbours' bytes; only verification across nodes sees it."""
    counts, output = run(
        start(coherent=False), "-k", "interleaved and not read", "--pario-param", "romio_ds_write=enable"
    )
    assert counts.get("failed", 0) >= 1, output
    assert "wrong byte" in output


def test_shards_with_several_writers_are_caught(start: Start) -> None:
    """GEN-04: the file comes out with another size."""
    counts, output = run(start(shard="4MB"), "-k", "segmented and not read")
    assert counts.get("failed", 0) >= 1, output
    assert "wrong byte" in output or "end of file" in output or "size" in output
