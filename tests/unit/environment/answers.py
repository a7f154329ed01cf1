"""A context that answers from recorded text instead of from this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_pario.environment.context import Context

RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str) -> str:
    return (RECORDED / f"{name}.txt").read_text()


class Answers(Context):
    def __init__(
        self,
        directory: str,
        *,
        tools: Mapping[str, str] | None = None,
        files: Mapping[str, str] | None = None,
        attributes: Mapping[str, bytes] | None = None,
        hints: Mapping[str, str] | None = None,
        hostnames: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__("/", hints, hostnames, environment=environment or {})
        self.directory = directory
        self.tools = {command: recorded(name) for command, name in (tools or {}).items()}
        self.files = {"/proc/self/mountinfo": recorded("mountinfo"), **(files or {})}
        self.attributes = dict(attributes or {})

    def run(self, *command: str) -> str | None:
        return self.tools.get(" ".join(command))

    def read(self, path: str) -> str | None:
        return self.files.get(path)

    def xattr(self, path: str, name: str) -> bytes | None:
        return self.attributes.get(name)

    def space(self, path: str) -> os.statvfs_result | None:
        return None

    def preferred_bytes(self, path: str) -> int | None:
        return None

    def magic(self, path: str) -> int | None:
        return None

    def mount_id(self, path: str) -> int | None:
        return None

    def device_number(self, path: str) -> str | None:
        return {"/dev/sdc": "8:32"}.get(path)
