"""The `pario` command; every subcommand imports what it needs when it runs."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Sequence

from pytest_pario import __version__
from pytest_pario.cli.bench import add_bench
from pytest_pario.cli.runs import add_runs
from pytest_pario.cli.suites import add_suites
from pytest_pario.errors import ParioError
from pytest_pario.session.operator_cli import add_commands

FAILED_STATUS, USAGE_STATUS = 1, 2
PIPE_STATUS = 128 + signal.SIGPIPE
COMMAND_CHARS = 300
"""Of a command line that is named."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit status."""
    parser = build_parser()
    arguments, rest = parser.parse_known_args(argv)
    if rest and not getattr(arguments, "takes_rest", False):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        status = int(arguments.handler(arguments, rest))
        sys.stdout.flush()
        return status
    except ParioError as error:
        print(f"pario: {error}", file=sys.stderr)
        return USAGE_STATUS
    except subprocess.TimeoutExpired as error:  # of a job that a bench or a sweep started
        command = error.cmd if isinstance(error.cmd, str) else " ".join(map(str, error.cmd))
        print(
            f"pario: did not end within {error.timeout:g} s and was killed: {command[:COMMAND_CHARS]}", file=sys.stderr
        )
        return FAILED_STATUS
    except BrokenPipeError:  # `| head -1`: the rest was not wanted
        from pytest_pario.session.progress import hush

        hush(sys.stdout)
        return PIPE_STATUS


def build_parser() -> argparse.ArgumentParser:
    """The command line of all subcommands."""
    parser = argparse.ArgumentParser(prog="pario", description="Parallel-I/O regression tests under MPI.")
    parser.add_argument("--version", action="version", version=f"pario {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_runs(commands)
    add_commands(commands)
    add_suites(commands)
    add_bench(commands)
    return parser
