"""What a record tells of its run beside the samples: facts and flags (GEN-14), from what was really done."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pytest_pario import mpi
from pytest_pario.access.executor import Manner, Pass
from pytest_pario.access.loops import Target as LoopTarget
from pytest_pario.access.loops import choose_loop
from pytest_pario.access.target import Target
from pytest_pario.measure.cache import CacheState, Resident, worst
from pytest_pario.measure.clock import clocks_agree
from pytest_pario.measure.rates import rates_of
from pytest_pario.model import Access, Samples
from pytest_pario.units import mib_per_s
from pytest_pario.workloads.hints import classify_hints, group_hints


class Account:
    """Facts and flags of one phase of one pattern, collected while it is run; the same on all ranks."""

    def __init__(self, target: Target, phase: Access) -> None:
        """Begin with what was asked for."""
        self._target, self._phase, self._comm = target, phase, target.comm
        self.flags: list[str] = []
        self.facts: dict[str, Any] = {"error_count": 0, "warmup_s": [], "hints_requested": dict(target.hints)}
        if target.view_hints:
            self.facts["hints_requested_with_view"] = dict(target.view_hints)
        self._cache: CacheState | None = None
        self._resident: list[float | None] = []

    def add_allocation(self, told: Mapping[str, Any]) -> None:
        """How the file was brought to its first state; what that took is told of each time, apart from the samples."""
        self.facts |= {key: value for key, value in told.items() if key != "allocation_s"}
        if "allocation_s" in told:
            self.facts["allocation_s"] = [*self.facts.get("allocation_s", ()), told["allocation_s"]]

    def add_hints(self, in_force: Mapping[str, str]) -> None:
        """What became of the hints (GEN-12)."""
        requested = {**self._target.hints, **self._target.view_hints}
        self.facts["hints"] = group_hints(classify_hints(requested, in_force))

    def add_cache(self, state: CacheState) -> None:
        """The state before one more round; the worst of all rounds is the record's, residency is told of each."""
        self._resident.append(state.resident)
        # the first of equal ones stays
        self._cache = state if self._cache is None else worst((self._cache, state))
        self.facts["cache"] = {
            "state": self._cache.state,
            "resident": self._cache.resident,
            "resident_limit": self._cache.limit,
            "resident_before_round": list(self._resident),
            "methods": list(self._cache.methods),
            "why": self._cache.why,
        }

    def add_resident_before_write(self, found: Resident) -> None:
        """What was cached of a file that exists before it is written; the worst round counts, unknown is worst."""
        self._resident.append(found.fraction)
        known = [one for one in self._resident if one is not None]
        self.facts["resident_before_round"] = list(self._resident)
        self.facts["resident_before_write"] = max(known) if len(known) == len(self._resident) else None
        self.facts["resident_limit"] = found.limit

    def add_pass(self, done: Pass, calls_again: int) -> None:
        """What one round called, and what went wrong in it."""
        self.facts["error_count"] += self._comm.allreduce(len(done.errors))
        self.facts["acts"] = list(done.acts)
        self.facts["synced"] = "sync" in done.acts
        self.facts["timed"] = self._timed(done.acts)
        self.facts["views"], self.facts["filetypes"] = done.views, done.filetypes
        self.facts["buffer_used_again"] = calls_again

    def _timed(self, acts: tuple[str, ...]) -> str:
        """What the clock of the record held (CONS-07)."""
        verb = "read" if self._phase == "read" else "write"
        words = [verb if act == "access" else act for act in acts]
        pattern = self._target.pattern
        if pattern.times_calls:
            words = [word for word in words if word not in ("open", "close")]
        return ", ".join([*words, "barrier"] if pattern.metric == "job_time" else words)

    def add_load(self, load: Mapping[str, object] | None) -> None:
        """Who else used the hosts while the rounds ran."""
        self.facts["load"] = load
        if load is not None and load["polluted"]:
            self.flags.append("polluted")

    def add_manner(self, manner: Manner, buffer: str, direct: int) -> None:
        """How the calls were made; every choice that changes a number is told (CONS-07)."""
        pattern, comm = self._target.pattern, self._comm
        on_node = comm.Split_type(mpi.load().COMM_TYPE_SHARED)
        if mpi.agree(comm, on_node.size > len(os.sched_getaffinity(0))):
            self.flags.append("oversubscribed")  # GEN-19
        on_node.Free()
        kind: LoopTarget = "posix" if pattern.api == "posix" else "mpi"
        self.facts |= {
            "loop": choose_loop(manner.loop, target=kind, comm=comm).name,
            "buffer": buffer,
            "direct": bool(direct),
            "direct_alignment": direct or None,
            "intra_barriers": manner.intra_barriers,
            "call_barriers": manner.call_barriers,
            "strategy": str(manner.strategy or "row"),
            "wtime_is_global": bool(comm.Get_attr(mpi.load().WTIME_IS_GLOBAL)),
            "deleted_on_close": pattern.open.delete_on_close,
        }

    def add_rates(self, samples: Samples, device_rate: float | None) -> None:
        """Rates by both rules; a read that the device cannot deliver is flagged: residency 0 is no proof."""
        self.facts["rates"] = rates_of(samples, clocks_agree=clocks_agree(self._comm))
        fastest = max(mib_per_s(b, s) for b, s in zip(samples.moved_bytes, samples.elapsed_s, strict=True))
        if self._phase == "read" and device_rate is not None and fastest > device_rate:
            self.flags.append("faster_than_device")
