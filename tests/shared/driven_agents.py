"""A small agent loop as a command, and how tests drive it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace
from typing import Unpack

from fakeprovider.driving.command_run import Drive, Driven, drive
from fakeprovider.settings import Options, Settings

AGENT = """
    import json, os, sys, urllib.error, urllib.request
    def ask(messages, **headers):
        body = {"model": "m", "messages": messages, "tools": [
            {"type": "function", "function": {"name": name}}
            for name in ("list_files", "read_file", "delete_file")]}
        request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions",
            json.dumps(body).encode(), {"content-type": "application/json", **headers})
        try:
            return json.load(urllib.request.urlopen(request))["choices"][0]["message"]
        except urllib.error.HTTPError as error:
            print(error.code, error.headers["x-should-retry"], json.load(error)["error"]["code"],
                  flush=True)
            return None
    def run(limit=1000):
        messages = [{"role": "user", "content": "Which file?"}]
        for _ in range(limit):
            message = ask(messages)
            if message is None or not message.get("tool_calls"):
                return message
            messages.append(message)
            messages.append({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"],
                             "content": "Done."})
    """


def agent(source: str = "run()") -> list[str]:
    """A harness that knows nothing of us but the base URL."""
    return [sys.executable, "-c", textwrap.dedent(AGENT) + textwrap.dedent(source)]


def driven(
    command: list[str], script: str = "plan", how: Drive | None = None, **options: Unpack[Options]
) -> Driven:
    """The command's run, its output kept; `how` says how but for the script and the settings."""
    how = how or Drive(script)
    return drive(command, replace(how, script=script, settings=Settings(**options), capture=10_000))


def printing(source: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(source)]


def processes_with(word: str) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if word in line and " ps " not in line]
