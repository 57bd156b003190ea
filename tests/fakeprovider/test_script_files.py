"""Script files on the command line: checked, served, and read again when they change."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from processes import Serve

from fakeprovider.cli import main
from fakeprovider.commands.serve import Watcher
from fakeprovider.scripts import Script
from fakeprovider.yamlscripts import json_schema, read_script
from fakeprovider.yamlscripts.conditions import CONDITIONS
from fakeprovider.yamlscripts.language import REPLY_FIELDS, TURN_FIELDS
from fakeprovider.yamlscripts.templates import FILTERS, SOURCES

PAGE = (Path(__file__).parents[2] / "docs" / "yaml-scripts.md").read_text()
EXAMPLES = Path(__file__).parents[2] / "docs" / "scripts"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, arguments)
    return result.exit_code, result.output


def write(folder: Path, **scripts: str) -> Path:
    for name, text in scripts.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def test_check_names_what_is_right() -> None:
    status, text = run("check", str(EXAMPLES))
    assert (status, text) == (
        0,
        "6 scripts right: denied, destructive, duplicate, plan, recover, runaway\n",
    )


def test_check_tells_file_and_line_and_fails(tmp_path: Path) -> None:
    write(tmp_path, good="turns: [{say: x}]", bad="turns:\n  - say: x\n  - sya: y")
    status, text = run("check", str(tmp_path))
    assert status == 1
    assert text.startswith(
        f"{tmp_path}/bad.yaml:3: unknown key 'sya' in a turn (did you mean 'say'?"
    )
    assert text.endswith("1 problem\n")
    assert run("check", str(tmp_path / "good.yaml"))[0] == 0
    assert run("check", str(tmp_path / "gone"))[0] == 2


def test_a_folder_of_somebody_elses_files_is_passed_over(tmp_path: Path) -> None:
    """Virtual environments by any name, node_modules, hidden folders and files: not ours."""
    write(tmp_path, mine="turns: [{say: x}]")
    for name in (".venv", "env", "node_modules", ".github", "deep/node_modules"):
        (tmp_path / name).mkdir(parents=True)
        write(tmp_path / name, workflow="jobs: {}")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    (tmp_path / ".pre-commit-config.yaml").write_text("repos: []")
    (tmp_path / "folder.yaml").mkdir()
    write(tmp_path / "folder.yaml", inner="turns: [{say: y}]")
    assert run("check", str(tmp_path)) == (0, "2 scripts right: inner, mine\n")
    assert run("check", str(tmp_path / ".github"))[0] == 1  # asked for, it is looked at


def test_a_file_that_cannot_be_read_is_a_problem_of_that_file(tmp_path: Path) -> None:
    write(tmp_path, good="turns: [{say: x}]")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    status, text = run("check", str(tmp_path))
    assert status == 1
    assert f"{tmp_path}/gone.yaml:1: cannot be read: No such file or directory\n" in text


def test_schema_is_the_language() -> None:
    status, text = run("schema")
    assert status == 0
    assert json.loads(text) == json_schema()


def say(client: httpx.Client, path: str) -> str:
    reply = client.post(
        f"{path}/chat/completions",
        json={"model": "any", "messages": [{"role": "user", "content": "x"}]},
    ).json()
    return str(
        reply.get("error", reply).get("message") or reply["choices"][0]["message"]["content"]
    )


def test_the_only_script_of_a_file_is_the_default(tmp_path: Path, serve: Serve) -> None:
    write(tmp_path, hello="turns: [{say: hello}]")
    process = serve(str(tmp_path / "hello.yaml"))
    with httpx.Client(timeout=60) as client:
        assert say(client, process.base_url) == "hello"
        assert say(client, f"{process.url}/hello/v1") == "hello"
        assert "has no turn" not in say(client, f"{process.url}/plan/v1")


def test_scripts_that_are_wrong_are_told_before_anything_is_served(tmp_path: Path) -> None:
    write(tmp_path, bad="turns: [{sya: x}]")
    status, text = run("serve", str(tmp_path), "--port", "0")
    assert status == 1
    assert f"{tmp_path}/bad.yaml:1: unknown key 'sya'" in text


def test_watched_scripts_are_read_again_while_the_server_runs(tmp_path: Path, serve: Serve) -> None:
    write(tmp_path, hello="turns: [{say: one}]")
    process = serve(str(tmp_path), "--watch")
    with httpx.Client(timeout=60) as client:
        assert say(client, f"{process.url}/hello/v1") == "one"
        write(tmp_path, hello="turns: [{say: two}]", more="turns: [{say: three}]")
        deadline = time.monotonic() + 30
        while say(client, f"{process.url}/hello/v1") != "two" and time.monotonic() < deadline:
            process.popen.poll()
        assert say(client, f"{process.url}/hello/v1") == "two"
        assert say(client, f"{process.url}/more/v1") == "three"


class Seen:
    """Stands for the server: what it was given, and what was said."""

    def __init__(self, folder: Path) -> None:
        self.scripts: list[list[str]] = []
        self.messages: list[str] = []
        self.watcher = Watcher([folder], self.use, self.messages.append)

    def use(self, scripts: Mapping[str, Script]) -> None:
        self.scripts.append(sorted(scripts))


def touch(file: Path) -> None:
    """A change that no clock is too coarse for."""
    stat = file.stat()
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000_000))


def test_files_are_read_again_only_after_a_change(tmp_path: Path) -> None:
    seen = Seen(write(tmp_path, a="turns: [{say: x}]"))
    seen.watcher.look()
    assert seen.scripts == []
    touch(tmp_path / "a.yaml")
    seen.watcher.look()
    seen.watcher.look()
    assert (seen.scripts, seen.messages) == ([["a"]], ["read again: a"])


def test_files_that_come_and_go_are_seen(tmp_path: Path) -> None:
    seen = Seen(write(tmp_path, a="turns: [{say: x}]"))
    write(tmp_path, b="turns: [{say: y}]")
    seen.watcher.look()
    (tmp_path / "a.yaml").unlink()
    seen.watcher.look()
    assert seen.scripts == [["a", "b"], ["b"]]


def test_a_mistake_is_told_once_and_the_scripts_stay_as_they_were(tmp_path: Path) -> None:
    seen = Seen(write(tmp_path, a="turns: [{say: x}]"))
    write(tmp_path, a="turns: [{sya: x, and: more}]")
    seen.watcher.look()
    seen.watcher.look()
    assert seen.scripts == []
    assert len(seen.messages) == 1
    assert "a.yaml:1: unknown key 'sya'" in seen.messages[0]
    assert seen.messages[0].endswith("the scripts stay as they were")


def test_a_script_given_by_its_file_is_watched_too_and_stays_the_default(
    tmp_path: Path, serve: Serve
) -> None:
    write(tmp_path, own="turns: [{say: one}]")
    process = serve("--script", str(tmp_path / "own.yaml"), "--watch")
    with httpx.Client(timeout=60) as client:
        assert say(client, process.base_url) == "one"
        write(tmp_path, own="turns: [{say: two}]")
        deadline = time.monotonic() + 30
        while say(client, process.base_url) != "two" and time.monotonic() < deadline:
            process.popen.poll()
        assert say(client, process.base_url) == "two"


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_each_script_of_the_page_is_right(text: str) -> None:
    script, problems = read_script(text, "page", "docs/yaml-scripts.md")
    assert problems == []
    assert script is not None


def test_the_page_names_every_condition_source_and_filter() -> None:
    for name in (*CONDITIONS, *SOURCES, *FILTERS, *TURN_FIELDS, *REPLY_FIELDS):
        assert f"`{name}" in PAGE or f"{name}:" in PAGE, name
