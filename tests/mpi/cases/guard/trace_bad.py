"""GPFS-55: the environment of the last task has a value that tracing does not know."""

import os

from stage import LAST, attempt, open_file


def trace():
    if LAST:
        os.environ["PARIO_TRACE"] = "everything"
    try:
        open_file()
    finally:
        os.environ.pop("PARIO_TRACE", None)


attempt(trace)
