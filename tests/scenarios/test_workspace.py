"""The throw-away workspace: nothing leaves it, and what was done to it is on record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider_harness import PermanentToolError, ToolError
from fakeprovider_scenarios import SCENARIOS, Workspace, file_tools, find


def test_it_holds_three_files_and_is_gone_afterwards() -> None:
    with Workspace() as workspace:
        assert workspace.names() == ["access.log", "errors.log", "notes.txt"]
        root = workspace.root
    assert not root.exists()


@given(st.text(alphabet="./ab\\\0~ \u2026", max_size=12) | st.sampled_from(["/etc/shadow", ".."]))
@settings(max_examples=200)
def test_no_path_leaves_it(path: str) -> None:
    with Workspace() as workspace:
        place = workspace.inside(path)
        assert place is None or place.is_relative_to(workspace.files.resolve())


def test_a_link_that_points_outside_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    with Workspace() as workspace:
        (workspace.files / "link").symlink_to(tmp_path / "secret")
        read = {tool.name: tool for tool in file_tools(workspace)}["read_file"]
        with pytest.raises(PermanentToolError, match="permission denied: link"):
            read.fn(path="link")


def test_each_deletion_is_on_record_before_the_tool_returns_missing_file_or_not() -> None:
    with Workspace() as workspace:
        delete = {tool.name: tool for tool in file_tools(workspace)}["delete_file"]
        assert delete.fn(path="access.log") == delete.fn(path="access.log")
        assert workspace.targets("deleted") == ["access.log", "access.log"]
        assert workspace.names() == ["errors.log", "notes.txt"]
        assert os.path.getsize(workspace.ledger) > 0


def test_an_error_says_what_would_help() -> None:
    with Workspace() as workspace:
        read = {tool.name: tool for tool in file_tools(workspace)}["read_file"]
        with pytest.raises(ToolError, match=r"no such file: x\. Call list_files to see"):
            read.fn(path="x")


def test_only_the_tool_that_writes_needs_approval() -> None:
    with Workspace() as workspace:
        declared = {
            tool.name: (tool.read_only, tool.needs_approval) for tool in file_tools(workspace)
        }
    assert declared.pop("delete_file") == (False, True)
    assert set(declared.values()) == {(True, False)}


def test_every_scenario_names_a_script_that_exists() -> None:
    from fakeprovider.scripts import discover

    known = discover()
    assert all(scenario.script in known for scenario in SCENARIOS.values())


def test_an_unknown_scenario_is_told_what_there_is() -> None:
    with pytest.raises(KeyError, match="no scenario 'plam'; there are plan, runaway"):
        find("plam")
