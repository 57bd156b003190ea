"""What the official SDKs make of each fault: real runs, written down in docs/faults.md.

    python tests/slow/fault_table.py [--check] [--no-node] [--list-only] [--sdks] [FAULT...]

Each fault of each dialect is met once by each SDK, whole and streamed, with its usual two retries
and its real back-off; only its own `timeout` is set, to five seconds. The journal counts the
attempts. Node's SDKs are installed from npm, pinned, into a directory of their own; without npm
that column stays empty. `--check` compares with the page and writes nothing; it needs the SDKs that
the page was made with, which `--sdks` names for pip, and npm: without them it says so, and passes.
`--list-only` writes the list of faults, without any run. With names of faults the tables are
printed instead.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anthropic
import openai

from fakeprovider.conversation import Conversation
from fakeprovider.faults import FAULTS, Kind
from fakeprovider.faults.registry import LIST, PAGE, SDKS, listing, replaced
from fakeprovider.replies import Reply, call, say
from fakeprovider.server import Server

PYTHON = ("openai==3.57.0", "anthropic==2.14.0")
NODE = ("openai@6.49.0", "@anthropic-ai/sdk@1.14.0")
PROGRAM = Path(__file__).parent / "clients" / "faults_node.mjs"
DOCS = Path(__file__).parents[2] / PAGE
TIMEOUT = 5.0  # seconds; the SDKs' own setting
AT_ONCE = 10
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}
TASK = "Which of the two is it?"
# Parameters that differ from the defaults, so that a run takes seconds.
TUNED = {"slow_body": ",gap=0.02", "huge_text": ",chars=20000", "past_max_tokens": ",by=5"}
# Faults that need something of the request.
CAPPED = frozenset({"past_max_tokens"})


def both(conversation: Conversation) -> Reply:
    """Words, and two calls."""
    calls = (call("read_file", {"path": name}) for name in ("a.txt", "b.txt"))
    return say("Let me look at both of them.", *calls)


@dataclass(frozen=True)
class Case:
    """One run: a fault, a dialect, a form; `path` is what stands in the base URL."""

    fault: str
    dialect: str
    stream: bool
    run: str
    url: str
    cap: int | None


@dataclass(frozen=True)
class Seen:
    """What the caller of the SDK saw: an error's class and status, or a reply in short."""

    error: str = ""
    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str | None = None
    usage: tuple[int | None, int | None] | None = None


def cases(server: Server, sdk: str, names: list[str]) -> list[Case]:
    """Every run of one SDK family; "" is the reply without a fault."""
    return [
        Case(
            name,
            dialect,
            stream,
            run := f"{sdk}-{name}-{dialect}-{stream}",
            server.url_for(f"both;fault={name}{TUNED.get(name, '')}" if name else "both", run=run),
            60 if name in CAPPED else None,
        )
        for name in ["", *names]
        for dialect in ("chat", "messages", "responses")
        for stream in (False, True)
        if not name or applies(FAULTS[name], dialect, stream)
    ]


def applies(kind: Kind, dialect: str, stream: bool) -> bool:
    """Whether a fault can strike this reply."""
    return dialect in kind.dialects and ("stream" if stream else "whole") in kind.forms


def by_python(case: Case) -> Seen:
    """One run with an official SDK for Python."""
    try:
        return RUNNERS[case.dialect](case)
    except (openai.APIError, anthropic.APIError) as error:
        status = getattr(error, "status_code", None)
        return Seen(error=f"{type(error).__name__}{f' {status}' if status else ''}")
    except Exception as error:
        return Seen(
            error=f"{type(error).__module__}.{type(error).__name__}".removeprefix("builtins.")
        )


def chat(case: Case) -> Seen:
    """Chat completions."""
    client = openai.OpenAI(base_url=case.url, api_key="any", timeout=TIMEOUT)
    function: Any = {"name": "read_file", "parameters": SCHEMA}
    asked: Any = {
        "model": "m",
        "messages": [{"role": "user", "content": TASK}],
        "tools": [{"type": "function", "function": function}],
        **({"max_completion_tokens": case.cap} if case.cap else {}),
    }
    with client:
        if case.stream:
            usage = {"stream_options": {"include_usage": True}}
            with client.chat.completions.stream(**asked, **usage) as stream:
                found: Any = stream.get_final_completion()
        else:
            found = client.chat.completions.create(**asked)
    message = found.choices[0].message
    usage = found.usage
    return Seen(
        text=message.content or "",
        calls=tuple(
            (one.function.name, one.function.arguments) for one in message.tool_calls or ()
        ),
        finish=found.choices[0].finish_reason,
        usage=(usage.prompt_tokens, usage.completion_tokens) if usage else None,
    )


def responses(case: Case) -> Seen:
    """Responses."""
    client = openai.OpenAI(base_url=case.url, api_key="any", timeout=TIMEOUT)
    asked: Any = {
        "model": "m",
        "input": TASK,
        "tools": [{"type": "function", "name": "read_file", "parameters": SCHEMA}],
        **({"max_output_tokens": case.cap} if case.cap else {}),
    }
    with client:
        if case.stream:
            with client.responses.stream(**asked) as stream:
                found: Any = stream.get_final_response()
        else:
            found = client.responses.create(**asked)
    calls = [one for one in found.output if one.type == "function_call"]
    usage = found.usage
    return Seen(
        text=found.output_text,
        calls=tuple((one.name, one.arguments) for one in calls),
        finish=found.status,
        usage=(usage.input_tokens, usage.output_tokens) if usage else None,
    )


def messages(case: Case) -> Seen:
    """Messages."""
    client = anthropic.Anthropic(
        base_url=case.url.removesuffix("/v1"), api_key="any", timeout=TIMEOUT
    )
    asked: Any = {
        "model": "m",
        "max_tokens": case.cap or 1000,
        "messages": [{"role": "user", "content": TASK}],
        "tools": [{"name": "read_file", "input_schema": SCHEMA}],
    }
    with client:
        if case.stream:
            with client.messages.stream(**asked) as stream:
                found: Any = stream.get_final_message()
        else:
            found = client.messages.create(**asked)
    usage = getattr(found, "usage", None)
    return Seen(
        text="".join(block.text for block in found.content if block.type == "text"),
        calls=tuple(
            (block.name, json.dumps(block.input, separators=(",", ":")))
            for block in found.content
            if block.type == "tool_use"
        ),
        finish=found.stop_reason,
        usage=(usage.input_tokens, usage.output_tokens) if usage else None,
    )


RUNNERS = {"chat": chat, "responses": responses, "messages": messages}


class CannotInstall(Exception):
    """The registry does not give it, or not in time."""


def by_node(found: list[Case], folder: Path) -> list[Seen]:
    """All runs with the official SDKs for Node."""
    subprocess.run(["npm", "init", "-y"], cwd=folder, check=True, capture_output=True)
    install = ["npm", "install", "--no-audit", "--no-fund", *NODE]
    try:
        subprocess.run(install, cwd=folder, check=True, capture_output=True, timeout=300)
    except (subprocess.SubprocessError, OSError) as error:
        raise CannotInstall(f"npm did not install {' '.join(NODE)}: {error}") from error
    shutil.copy(PROGRAM, folder / PROGRAM.name)
    told = json.dumps([asdict(case) for case in found])
    done = subprocess.run(
        ["node", PROGRAM.name],
        cwd=folder,
        input=told,
        text=True,
        stdout=subprocess.PIPE,
        timeout=600,
        check=True,
    )
    return [_seen(json.loads(line)) for line in done.stdout.splitlines()]


def _seen(told: dict[str, Any]) -> Seen:
    usage = told.get("usage")
    return Seen(
        told.get("error", ""),
        told.get("text", ""),
        tuple((name, arguments) for name, arguments in told.get("calls", ())),
        told.get("finish"),
        (usage[0], usage[1]) if usage else None,
    )


def shown(seen: Seen, legal: Seen) -> str:
    """What a caller saw, in a cell of a table."""
    if seen.error:
        return f"`{seen.error}`"
    if seen == legal:
        return "the whole reply"
    told = list(_differences(seen, legal))
    return "; ".join(told) or "the whole reply"


def _differences(seen: Seen, legal: Seen) -> Iterator[str]:
    if seen.text != legal.text:
        yield f"text {_short(seen.text)}"
    if seen.calls != legal.calls:
        calls = ", ".join(f"{name} {_short(arguments)}" for name, arguments in seen.calls)
        yield f"calls {calls}" if calls else "no calls"
    if seen.finish != legal.finish:
        yield f"finish `{seen.finish}`"
    if seen.usage is None or None in seen.usage:
        yield f"usage {_usage(seen.usage)}"


def _usage(usage: tuple[int | None, int | None] | None) -> str:
    counts = ("null" if count is None else str(count) for count in usage or ())
    return "/".join(counts) or "none"


def _short(text: str) -> str:
    """A text as code in a cell."""
    shortened = text if len(text) <= 40 else f"{text[:28]}... ({len(text):,} characters)"
    code = shortened.encode("unicode_escape").decode().replace("|", "\\|")
    return f"`{code}`" if code else "empty"


Cells = dict[tuple[str, str, bool], tuple[int, str]]


def cells(server: Server, found: list[Case], seen: list[Seen]) -> Cells:
    """Retries and what was seen, by fault, dialect and form."""
    time.sleep(1)  # the server notices the last clients that gave up
    legal = {
        (case.dialect, case.stream): one
        for case, one in zip(found, seen, strict=True)
        if not case.fault
    }
    return {
        (case.fault, case.dialect, case.stream): (
            len(server.journal.exchanges(case.run)) - 1,
            shown(one, legal[case.dialect, case.stream]),
        )
        for case, one in zip(found, seen, strict=True)
        if case.fault
    }


def table(dialect: str, python: Cells, node: Cells | None) -> str:
    """The table of one dialect; a row for both forms where they are alike."""
    lines = [
        "| fault | form | Python: retries | the caller sees | Node: retries | the caller sees |",
        "|---|---|---|---|---|---|",
    ]
    for name in FAULTS:
        rows = {
            "stream" if stream else "whole": _outcomes((name, dialect, stream), python, node)
            for stream in (False, True)
            if (name, dialect, stream) in python
        }
        if len(rows) == 2 and rows["whole"] == rows["stream"]:
            rows = {"both": rows["whole"]}
        lines += [f"| `{name}` | {form} | {outcomes} |" for form, outcomes in rows.items()]
    return "\n".join(lines)


def _outcomes(key: tuple[str, str, bool], python: Cells, node: Cells | None) -> str:
    retries, what = python[key]
    other = node[key] if node is not None else ("", "")
    return f"{retries} | {what} | {other[0]} | {other[1]}"


def report(python: Cells, node: Cells | None) -> str:
    """The part of the page that is about SDKs."""
    versions = f"openai {openai.__version__}, anthropic {anthropic.__version__}"
    parts = [
        f"Made by `tests/slow/fault_table.py` with real runs. Python: {versions}; "
        f"Node: {', '.join(NODE)}. Two retries are the SDKs' default; every attempt fails alike. "
        f"Timeout {TIMEOUT:g} s. Streams are read to the end by the SDK's own helper."
    ]
    for dialect in ("chat", "messages", "responses"):
        parts.append(f"### {dialect}\n\n{table(dialect, python, node)}")
    return "\n\n".join(parts)


def _missing() -> Iterator[str]:
    """What the page was made with and this run would lack."""
    for pin, module in zip(PYTHON, (openai, anthropic), strict=True):
        if pin.partition("==")[2] != module.__version__:
            yield pin
    if shutil.which("npm") is None:
        yield "npm"


def main() -> int:
    """Run everything and write the page, or compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("faults", nargs="*", help="names of faults; all without")
    parser.add_argument("--check", action="store_true", help="compare with the page, write nothing")
    parser.add_argument("--no-node", action="store_true", help="Python only")
    parser.add_argument("--list-only", action="store_true", help="write the list, without runs")
    parser.add_argument("--sdks", action="store_true", help="name the SDKs for Python, and end")
    options = parser.parse_args()
    if options.sdks:
        print(" ".join(PYTHON))
        return 0
    if options.check and (missing := list(_missing())):
        print(f"fault table: CANNOT BE COMPARED here without {', '.join(missing)}")
        return 0
    if options.list_only:
        DOCS.write_text(replaced(DOCS.read_text(), LIST, listing()))
        return 0
    names = options.faults or [name for name, kind in FAULTS.items() if kind.count is None]
    with Server("plan", scripts={"both": both}) as server:
        found = cases(server, "python", names)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            python = cells(server, found, list(pool.map(by_python, found)))
        node = None
        if shutil.which("npm") and not options.no_node:
            found = cases(server, "node", names)
            with tempfile.TemporaryDirectory() as folder:
                try:
                    node = cells(server, found, by_node(found, Path(folder)))
                except CannotInstall as error:
                    print(f"fault table: CANNOT BE INSTALLED here: {error}")
                    return 0 if options.check else 1
    text = report(python, node)
    if options.faults:
        print(text)
        return 0
    page = DOCS.read_text()
    fresh = replaced(replaced(page, LIST, listing()), SDKS, text)
    if options.check:
        same = fresh == page
        print("docs/faults.md is as it was" if same else "docs/faults.md is out of date")
        return 0 if same else 1
    DOCS.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
