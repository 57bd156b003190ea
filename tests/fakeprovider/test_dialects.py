"""The registry of dialects: what each must have, and what one that lacks it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from fakeprovider import strategies
from fakeprovider.completion import complete
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.protocols.chat.dialect import CHAT
from fakeprovider.protocols.dialect import DIALECTS, Dialect, by_endpoint, read_answer
from fakeprovider.registry import Registry
from fakeprovider.replies import ask

PAGE = "docs/dialects.md"
BODY = b'{"model":"m","max_tokens":99,"%b":[{"role":"user","content":"go"}]}'


def lacking(registered: Mapping[str, Dialect]) -> list[str]:
    """What dialects lack of what each must have: rows on the page, a test, faults."""
    page = (Path(__file__).parents[2] / PAGE).read_text()
    tests = "".join(module.read_text() for module in Path(__file__).parent.glob("test_*.py"))
    lacks = []
    for name, dialect in registered.items():
        endpoints = (*dialect.paths, *dialect.asides)
        rows = {path: f"| `POST {path}` |" for path in endpoints}
        lacks += [f"{name}: the row of {path} in {PAGE}" for path in rows if rows[path] not in page]
        if f"from fakeprovider.protocols.{name}.dialect import" not in tests:
            lacks.append(f"{name}: a test of its bytes")
        if not any(name in kind.dialects for kind in strategies.FAULTS.values()):
            lacks.append(f"{name}: faults that a strategy can draw")
    return lacks


def test_every_dialect_has_its_rows_its_test_and_its_faults() -> None:
    assert lacking(DIALECTS) == []


def test_a_new_dialect_is_told_by_name_what_it_lacks() -> None:
    copy: Registry[Dialect] = Registry("dialect")
    for name, dialect in DIALECTS.items():
        copy.add(name, dialect)
    copy.add("legacy", replace(CHAT, name="legacy", paths=("/completions",), asides={}))
    assert lacking(copy) == [
        f"legacy: the row of /completions in {PAGE}",
        "legacy: a test of its bytes",
        "legacy: faults that a strategy can draw",
    ]


def test_each_endpoint_has_one_dialect() -> None:
    endpoints = [path for each in DIALECTS.values() for path in (*each.paths, *each.asides)]
    assert sorted(by_endpoint()) == sorted(endpoints)
    assert len(set(endpoints)) == len(endpoints)


def test_each_dialect_reads_back_what_it_writes() -> None:
    """Whole and streamed, as a case of a script has it."""
    fields = {"choices": b"messages", "blocks": b"messages", "items": b"input"}
    for dialect in DIALECTS.values():
        conversation = dialect.parse(BODY % fields[dialect.shape], RequestCaches())
        completion = complete(conversation, ask("read_file", {"path": "a.txt"}), "plan")
        whole = dialect.render_whole(conversation, completion)
        stream = b"".join(frame.data for frame in dialect.render_stream(conversation, completion))
        for body, streamed in ((whole, False), (stream, True)):
            reply = read_answer(body, streamed=streamed, dialect=dialect.name)
            call = {"tool": "read_file", "arguments": {"path": "a.txt"}, "id": "fake0"}
            assert reply["ask"] == [call]
