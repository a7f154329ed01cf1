"""What a user sees of a job: its output as it comes, and a line that says how far it is."""

from __future__ import annotations

import codecs
import contextlib
import errno
import json
import os
import shutil
import time
from pathlib import Path
from typing import TextIO

REDRAW_S = 1.0
LOG_EVERY_S = 60.0
TAIL = 4000


def put(stream: TextIO, text: str) -> bool:
    """Write; False where the reader is gone (`| head -1`, a closed terminal), and from then on nothing is written."""
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EIO):
            raise
        hush(stream)
        return False
    return True


def hush(stream: TextIO) -> None:
    """Let what is written to a stream go nowhere, also what its buffer still holds when Python ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class Display:
    """Forwards a job's output; on a terminal the last line tells the progress, in a log a plain line now and then."""

    def __init__(self, stream: TextIO, journal: Path, job: int) -> None:
        """Show `job` on `stream`, with facts from its journal."""
        self.stream, self.job = stream, job
        self.is_terminal = stream.isatty()
        self.is_lost = False
        """Nobody reads the stream any more."""
        self.tail = ""
        """End of the output so far."""
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._partial = ""
        self._facts = JournalTail(journal)
        self._drawn_at = self._told_at = time.monotonic()

    def write(self, chunk: bytes) -> None:
        """Show output of the job."""
        text = self._decode(chunk)
        self.tail = (self.tail + text)[-TAIL:]
        if not self.is_terminal:
            self._put(text)
            return
        whole, newline, self._partial = (self._partial + text).rpartition("\n")
        self._put(f"\r\x1b[K{whole}{newline}")
        self._draw()

    def tick(self) -> None:
        """Time has passed; call it often."""
        now = time.monotonic()
        self._facts.read()
        if self.is_terminal and now - self._drawn_at >= REDRAW_S:
            self._draw()
        if not self.is_terminal and self._facts.running and now - self._told_at >= LOG_EVERY_S:
            self._told_at = now
            self._put(f"\npario: {self._facts.sentence()}\n")

    def close(self) -> None:
        """Leave a clean line."""
        if self.is_terminal:
            self._put(f"\r\x1b[K{self._partial}" + ("\n" if self._partial else ""))
        elif self.tail and not self.tail.endswith("\n"):
            self._put("\n")

    def _put(self, text: str) -> None:
        self.is_lost = not put(self.stream, text) or self.is_lost

    def _draw(self) -> None:
        self._drawn_at = time.monotonic()
        columns = shutil.get_terminal_size().columns
        status = f"[job {self.job}: {self._facts.sentence()}]"
        room = columns - 1 - len(self._partial)
        shown = self._partial + (" " + status)[: max(0, room)] if room > 8 else self._partial[-columns + 1 :]
        self._put(f"\r\x1b[K{shown}")


class JournalTail:
    """Reads what was added to a journal since the last look."""

    def __init__(self, path: Path) -> None:
        """Start at the beginning of the file, which may not exist yet."""
        self._path, self._offset, self._rest = path, 0, b""
        self.outcomes: dict[str, str] = {}
        self.selected: int | None = None
        self.running: str | None = None
        self._since = 0.0

    def read(self) -> None:
        """Take in new whole lines."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                added = file.read()
        except OSError:
            return
        self._offset += len(added)
        *lines, self._rest = (self._rest + added).split(b"\n")
        for line in lines:
            # a line that was torn and mended meanwhile; reading the journal as a whole says what is wrong
            with contextlib.suppress(ValueError, KeyError, TypeError):
                self._take(json.loads(line))

    def _take(self, entry: dict[str, object]) -> None:
        if entry["event"] == "selected":
            self.selected = int(str(entry["count"]))
        elif entry["event"] == "start":
            self.running, self._since = str(entry["nodeid"]), float(str(entry["time"]))
        elif entry["event"] == "end":
            self.outcomes[str(entry["nodeid"])] = str(entry["outcome"])
            self.running = None
        elif entry["event"] in ("abort", "stop", "finish"):
            self.running = None

    def sentence(self) -> str:
        """`3 of 12 finished, 1 failed; test_b.py::test_x for 12 s`."""
        total = f" of {self.selected}" if self.selected is not None else ""
        failed = sum(outcome == "failed" for outcome in self.outcomes.values())
        told = f"{len(self.outcomes)}{total} finished" + (f", {failed} failed" if failed else "")
        if self.running:
            told += f"; {self.running} for {max(0.0, time.time() - self._since):.0f} s"
        return told
