"""An agent that is a command: what it is told by its environment, and what it may leave behind."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from fakeprovider.contract.limits import Adapter, Limits, Report
from fakeprovider.driven import base_urls
from fakeprovider.supervise import Supervisor

_KEPT = 1 << 14  # bytes of output


class BadReport(ValueError):
    """A report that cannot be read."""


def adapter_for(command: Sequence[str], timeout: float) -> Adapter:
    """An adapter that runs a command: base URLs and keys as `fakeprovider exec` sets them, and

    `FAKEPROVIDER_TASK`, `FAKEPROVIDER_MAX_TURNS`, `FAKEPROVIDER_MAX_TOKENS` (each only if there is
    such a limit), `FAKEPROVIDER_HOME` and `FAKEPROVIDER_RESUME` (`1`), and `FAKEPROVIDER_REPORT`:
    a file that the command may write, a JSON object with the fields of `Report`.
    """

    def run(base_url: str, limits: Limits) -> Report | None:
        report = limits.home / "report.json"
        report.unlink(missing_ok=True)
        environment = {**os.environ, **base_urls(base_url), **_told(limits, report)}
        Supervisor(command, env=environment, timeout=timeout, grace=1.0, capture=_KEPT).run()
        return _read(report) if report.exists() else None

    return run


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
