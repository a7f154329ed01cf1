"""The rules of a site: `rules.ini` beside a machine's nights moves constants of the verdict.

[rules]
unexplained = calm          ; a gate by the name of another one
baseline_nights = 20
[explained]                 ; constants of one gate
spreads = 0.7
"""

from __future__ import annotations

import configparser
import dataclasses
from pathlib import Path
from typing import Any

from pytest_pario.baseline.rules import DEFAULT, Gate, Rules
from pytest_pario.errors import ParameterError, StoreError

RULES_FILE = "rules.ini"
WHOLE = "rules"
GATES = tuple(one.name for one in dataclasses.fields(Rules) if isinstance(one.default, Gate))


def read_rules(path: Path) -> tuple[Rules, tuple[str, ...]]:
    """The constants in force, and a sentence for each that the file says otherwise."""
    parser = configparser.ConfigParser(interpolation=None, inline_comment_prefixes=(";", "#"))
    try:
        text = path.read_text(encoding="utf-8")
        parser.read_string(text, str(path))
    except (FileNotFoundError, NotADirectoryError):
        return DEFAULT, ()
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise StoreError(f"{path}: cannot be read as rules: {error}") from error
    rules, told = DEFAULT, []
    # whole gates first, so that single constants of a gate are moved from where they are then
    for section in sorted(parser.sections(), key=lambda name: name != WHOLE):
        if section != WHOLE and section not in GATES:
            raise ParameterError("section", section, f"one of {', '.join((WHOLE, *GATES))}", str(path))
        for key, value in parser[section].items():
            rules = _move(rules, section, key, value, str(path))
            told.append(f"{key if section == WHOLE else f'{section}.{key}'} = {value}")
    if rules.baseline_nights < rules.baseline_least:
        allowed = f"{rules.baseline_least} (baseline_least) or more: with fewer every test would be learning for ever"
        raise ParameterError("baseline_nights", rules.baseline_nights, allowed, str(path))
    return rules, tuple(f"{one} ({path})" for one in told)


def _move(rules: Rules, section: str, key: str, value: str, origin: str) -> Rules:
    """One constant said otherwise."""
    if section == WHOLE:
        return dataclasses.replace(rules, **{key: _parse(rules, key, value, origin)})
    gate = getattr(rules, section)
    try:
        changed = dataclasses.replace(gate, **{key: _parse(gate, key, value, origin)})
    except ParameterError as error:
        raise ParameterError(f"{section}: {error.name}", error.value, error.allowed, origin) from None
    return dataclasses.replace(rules, **{section: changed})


def _parse(owner: Rules | Gate, key: str, value: str, origin: str) -> Any:
    known = [one.name for one in dataclasses.fields(owner)]
    if key not in known:
        raise ParameterError("rule", key, f"one of {', '.join(known)}", origin)
    now = getattr(owner, key)
    if isinstance(now, Gate):
        if value not in GATES:
            raise ParameterError(key, value, f"one of {', '.join(GATES)}", origin)
        return getattr(owner, value)
    try:
        number = type(now)(value)
    except ValueError:
        number = -1
    least = 1 if isinstance(now, int) and key != "excused" else 0
    most = 1 if key in ("confidence", "blind_effect") else float("inf")
    if not least <= number <= most or number == float("inf"):
        kind = "a whole number" if isinstance(now, int) else "a number"
        raise ParameterError(key, value, f"{kind}, {least} or more" + (", at most 1" if most == 1 else ""), origin)
    return number
