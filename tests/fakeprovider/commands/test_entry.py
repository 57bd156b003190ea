"""Ctrl-C while the command line loads, or before a server stands, is an exit status and no more."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import Any

import pytest
from click.testing import CliRunner

from fakeprovider import cli
from fakeprovider.__main__ import main
from fakeprovider.commands import scripts


class Interrupting(MetaPathFinder):
    """Ctrl-C comes when the command line is looked for."""

    def find_spec(self, name: str, *_: Any) -> None:
        if name == "fakeprovider.cli":
            raise KeyboardInterrupt


def test_ctrl_c_while_it_loads(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "fakeprovider.cli")
    monkeypatch.delattr("fakeprovider.cli", raising=False)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capfd.readouterr() == ("", "")


def test_ctrl_c_in_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scripts, "discover", interrupted)
    result = CliRunner().invoke(cli.main, ["list"])
    assert (result.exit_code, result.output) == (130, "")
