"""The container file, checked as far as it can be without an engine."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from fakeprovider.cli import main

ROOT = Path(__file__).parents[1]


def instructions() -> list[tuple[str, str]]:
    """Name and arguments of each, with continued lines joined and comments left out."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def arguments(name: str) -> list[str]:
    return [text for found, text in instructions() if found == name]


def test_what_is_copied_is_there_and_is_all_that_the_package_needs() -> None:
    copied = [word for text in arguments("COPY") for word in text.split()[:-1]]
    assert all((ROOT / name).exists() for name in copied)
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = wanted["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    packages = {folder.partition("/")[0] for folder in folders}
    named = [wanted["project"]["readme"], *wanted["project"]["license-files"], "pyproject.toml"]
    assert sorted(copied) == sorted([*packages, *named])


def test_the_context_holds_what_is_copied_and_nothing_else() -> None:
    kept = [
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    copied = [word for text in arguments("COPY") for word in text.split()[:-1]]
    assert sorted(kept) == sorted(copied)


def command(text: str) -> list[str]:
    found: Any = json.loads(text)
    assert isinstance(found, list)
    return [str(word) for word in found]


def test_it_serves_on_the_port_that_it_exposes_and_that_is_looked_at() -> None:
    assert command(arguments("ENTRYPOINT")[0]) == ["fakeprovider"]
    name, *options = command(arguments("CMD")[0])
    serve = main.get_command(click.Context(main), name)
    assert serve is not None
    parsed = serve.make_context(name, options)  # raises for an option that there is not
    assert isinstance(parsed, click.Context)
    assert parsed.params["host"] == "0.0.0.0"
    assert arguments("EXPOSE") == [str(parsed.params["port"])]
    assert f":{parsed.params['port']}/healthz" in arguments("HEALTHCHECK")[0]


def test_the_health_check_is_a_program_that_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = arguments("HEALTHCHECK")[0]
    program = command(text[text.index("CMD ") + 4 :])
    assert program[:2] == ["python", "-c"]
    compile(program[2], "health", "exec")


def test_it_does_not_run_as_root_and_its_python_is_one_that_we_support() -> None:
    assert arguments("USER") == ["65534:65534"]
    version = re.fullmatch(r"python:3\.(\d+)-slim", arguments("FROM")[0])
    assert version is not None
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert int(version[1]) >= int(wanted.removeprefix(">=3."))
