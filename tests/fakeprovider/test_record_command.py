"""The command that records another program's requests, and plays them back to it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from fakeprovider.cli import main
from fakeprovider.server import Server
from fakeprovider.yamlscripts import load

CLIENT = """
    import json, os, urllib.request
    body = {"model": "m", "messages": [{"role": "user", "content": "Which file?"}], "stream": False,
            "tools": [{"type": "function", "function": {"name": "list_files"}}]}
    def post():
        request = urllib.request.Request(os.environ["LLM_BASE_URL"] + "/chat/completions",
            json.dumps(body).encode(),
            {"content-type": "application/json", "authorization": "Bearer fakeprovider"})
        return json.load(urllib.request.urlopen(request))
    print(os.environ["OPENAI_API_KEY"], post()["choices"][0]["message"]["tool_calls"][0]["id"])
    """


def command(source: str = CLIENT) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(source)]


def test_a_command_is_recorded_with_the_real_key_which_it_does_not_see_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the-real-key")
    file = tmp_path / "rec.yaml"
    with Server("plan", api_key="the-real-key") as upstream:
        options = ["--upstream", upstream.base_url, "-o", str(file)]
        done = subprocess.run(
            [sys.executable, "-m", "fakeprovider", "record", *options, "--", *command()],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stdout) == (0, "fakeprovider fake0\n"), done.stderr
    assert f"1 exchanges written to {file}" in done.stderr
    assert "the-real-key" not in file.read_text()
    assert list(load(file)) == ["rec"]
    monkeypatch.delenv("OPENAI_API_KEY")
    played = CliRunner().invoke(
        main, ["exec", "--script", str(file), "--expect-turns", "1", "--", *command()]
    )
    assert played.exit_code == 0, played.output


def test_an_upstream_that_does_not_answer_is_said(tmp_path: Path) -> None:
    file = tmp_path / "rec.yaml"
    result = CliRunner().invoke(
        main,
        ["record", "--upstream", "http://127.0.0.1:9/v1", "-o", str(file), "--", *command()],
    )
    assert result.exit_code == 1
    assert (
        "not recorded: /v1/chat/completions: the answer was an error, status 502" in result.output
    )
    assert "nothing was recorded" in result.output
    assert not file.exists()


@pytest.mark.parametrize("upstream", ["localhost:8080", "ftp://x/v1", "http:///v1"])
def test_an_upstream_that_is_no_url_is_refused(upstream: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        main, ["record", "--upstream", upstream, "-o", str(tmp_path / "x"), "--", "true"]
    )
    assert result.exit_code == 2
    assert "must be a URL such as https://host/v1" in result.output
