"""An agent that is a command: what it is told by its environment, and what it may leave behind."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from fakeprovider.contract.limits import Limits, Report
from fakeprovider.driven import base_urls
from fakeprovider.kit.command import checked, last_words
from fakeprovider.supervise import Ended, Supervisor

_KEPT = 1 << 14  # bytes of output


class BadReport(ValueError):
    """A report that cannot be read."""


class Command:
    """An adapter that runs a command: base URLs and keys as `fakeprovider exec` sets them, and

    `FAKEPROVIDER_TASK`, `FAKEPROVIDER_MAX_TURNS`, `FAKEPROVIDER_MAX_TOKENS` (each only if there is
    such a limit), `FAKEPROVIDER_HOME` and `FAKEPROVIDER_RESUME` (`1`), and `FAKEPROVIDER_REPORT`:
    a file that the command may write, a JSON object with the fields of `Report`.
    """

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self._command = checked(command)
        self._timeout = timeout
        self._ended: Ended | None = None

    def __call__(self, base_url: str, limits: Limits) -> Report | None:
        """Run it to its end, at most the timeout in seconds."""
        report = limits.home / "report.json"
        report.unlink(missing_ok=True)
        self._ended = Supervisor(
            self._command,
            env={**os.environ, **base_urls(base_url), **_told(limits, report)},
            timeout=self._timeout,
            grace=1.0,
            capture=_KEPT,
        ).run()
        return _read(report) if report.exists() else None

    @property
    def last(self) -> str:
        """How it ended the last time: its exit status and the last lines that it wrote."""
        ended = self._ended
        if ended is None:
            return "the command has not ended"
        return last_words(self._command, ended)


def _told(limits: Limits, report: Path) -> dict[str, str]:
    told = {
        "FAKEPROVIDER_TASK": limits.task,
        "FAKEPROVIDER_HOME": str(limits.home),
        "FAKEPROVIDER_REPORT": str(report),
    }
    if limits.turns is not None:
        told["FAKEPROVIDER_MAX_TURNS"] = str(limits.turns)
    if limits.tokens is not None:
        told["FAKEPROVIDER_MAX_TOKENS"] = str(limits.tokens)
    if limits.resume:
        told["FAKEPROVIDER_RESUME"] = "1"
    return told


def _read(path: Path) -> Report:
    known = {field.name for field in fields(Report)}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Report(**{name: value for name, value in found.items() if name in known})
    except (ValueError, AttributeError) as error:
        raise BadReport(f"{path}: {error}") from error
