"""Wrong input on the command line: a message that helps, no traceback, and nothing started."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from click.testing import CliRunner

from fakeprovider.cli import main
from fakeprovider.recording.proxy import Proxy
from fakeprovider.yamlscripts import read_script

UP = ("record", "--upstream", "http://127.0.0.1:1/v1")
MISTAKES = [
    (("serve", "--body-timeout", "nan"), "'nan' is not a finite number"),
    (("serve", "--body-timeout", "inf"), "'inf' is not a finite number"),
    (("serve", "--body-timeout", "0"), "0.0 is not in the range x>0"),
    (("serve", "--chaos", "nan"), "'nan' is not a finite number"),
    (("serve", "--seed", "5"), "--seed needs --chaos SHARE beside it"),
    (("serve", "--latency", "inf"), "'inf' is not a finite number"),
    (("serve", "--api-key", ""), "a key has at least one character"),
    (("serve", "--script", "plan;fault=x"), "is an option here, such as --fault"),
    (("exec", "--script", "plan;fault=nope", "--", "false"), "--script 'plan;fault=nope': "),
    (("exec", "--script", "plan;x", "--", "false"), "--script 'plan;x': "),
    (("exec", "--script", "plan", "--timeout", "nan", "--", "false"), "not a finite number"),
    (("exec", "--script", "plan", "--grace", "inf", "--", "false"), "not a finite number"),
    (("record", "--upstream", "http://[::1", "-o", "x", "--", "false"), "must be a URL such as"),
    (("record", "--upstream", "http://h:99999", "-o", "x", "--", "false"), "must be a URL such as"),
    (("record", "--upstream", "file:///x", "-o", "x", "--", "false"), "must be a URL such as"),
    ((*UP, "-o", "/gone/x.yaml", "--", "false"), "there is no folder /gone"),
    ((*UP, "-o", "x", "--timeout", "nan", "--", "false"), "not a finite number"),
    (("serve", "--watch"), "--watch: name the files or folders"),
    ((*UP, "-o", "x.yaml", "--key-env", "NO_SUCH_KEY", "--", "true"), "--key-env NO_SUCH_KEY"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES, ids=[" ".join(a) for a, _ in MISTAKES])
def test_what_cannot_be_meant_is_a_usage_error(arguments: tuple[str, ...], message: str) -> None:
    """Before COMMAND runs: it would have been another exit status."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2, result.output
    assert message in result.output


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX")
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_recording_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    result = CliRunner().invoke(main, [*UP, "-o", str(tmp_path / "x.yaml"), "--", "false"])
    assert (result.exit_code, "permission denied" in result.output) == (2, True)


@pytest.mark.skipif(os.name != "posix", reason="POSIX tells it")
def test_a_recording_on_a_read_only_disk_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a disk that is mounted so; its folder's mode would say that it can be written."""
    mounted = os.statvfs("/")
    flags = (*mounted[:8], mounted.f_flag | os.ST_RDONLY, *mounted[9:])
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(flags))
    result = CliRunner().invoke(main, [*UP, "-o", "x.yaml", "--", "false"])
    assert result.exit_code == 2
    assert "cannot write x.yaml: the disk is read-only" in result.output


def test_a_command_that_cannot_be_started_is_told_by_record(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, [*UP, "-o", str(tmp_path / "x.yaml"), "--", "/gone"])
    assert result.exit_code == 127
    assert "COMMAND could not be started: No such file or directory: /gone" in result.output


def test_output_that_cannot_be_written_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*rest: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("fakeprovider.commands.scripts.click.echo", full)
        with pytest.raises(click.ClickException, match="No space left on device"):
            main.main(["list"], standalone_mode=False)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("content-length: abc", b""),
        ("content-length: -5", b""),
        ("transfer-encoding: chunked", b"zz\r\n\r\n"),
        ("transfer-encoding: chunked", b"-5\r\n\r\n"),
    ],
    ids=["letters", "negative", "bad chunk", "negative chunk"],
)
def test_a_length_that_is_none_is_a_400_of_the_recording_proxy(
    head: str, body: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    """And the end of the connection, without a traceback on COMMAND's stderr."""
    with Proxy("http://127.0.0.1:1/v1", lambda *rest: None) as proxy:
        url = httpx.URL(proxy.base_url)
        with socket.create_connection((str(url.host), url.port or 0), timeout=10) as connection:
            sent = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\n{head}\r\n\r\n".encode()
            connection.sendall(sent + body)
            reply = b"".join(iter(lambda: connection.recv(10_000), b""))
    assert reply.startswith(b"HTTP/1.1 400 ")
    assert b"The length of the body is not one" in reply
    assert capfd.readouterr().err == ""


# Files


def bomb() -> str:
    """Ten aliases of ten aliases ... of one list: ten thousand million values."""
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 11)]
    return "\n".join([*lines, "turns: [{say: x}]"])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (lambda: "turns: " + "[" * 3000 + "]" * 3000, 1, "it is nested too deeply"),
        (bomb, 2, "aliases stand for over 100,000 values"),
        (lambda: 'turns:\n  - say: "a\\ud800b"', 2, "half a surrogate pair"),
        (lambda: 'description: "\\udfff"\nturns: [{say: x}]', 1, "half a surrogate pair"),
        (
            lambda: 'turns:\n  - ask: {tool: x, arguments: {"\\udfff": 1}}',
            2,
            "half a surrogate pair",
        ),
        (
            lambda: "turns:\n  - ask: {tool: x, arguments: {a: [.nan]}}",
            2,
            "found a number nan; JSON has no such number",
        ),
        (
            lambda: "turns:\n  - say: x\n    usage: {prompt_tokens: 9007199254740992}",
            3,
            "found a whole number 9007199254740992; allowed: a whole number of 0 or more: this is",
        ),
    ],
    ids=["deep", "aliases", "surrogate", "in a description", "in a key", "nan", "large"],
)
def test_what_no_reply_can_be_made_of_is_told_when_the_file_is_read(
    text: Callable[[], str], line: int, message: str
) -> None:
    script, problems = read_script(text(), "x")
    assert script is None
    assert problems[0].line == line
    assert message in problems[0].message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX")
def test_a_pipe_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    """It would be waited for, for ever."""
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "a.yaml").write_text("turns: [{say: x}]")
    result = CliRunner().invoke(main, ["check", str(tmp_path)])
    assert result.output == "1 script right: a\n"
