"""Which tools only read, judged by their names alone.

A name counts only if its first word says so and no word of it says anything else: a tool that
writes, deletes, executes or sends must never be called because its name was misread.
"""

from __future__ import annotations

import re

_READS = """
    list ls dir read cat get view show search grep glob find lookup look stat status info describe
    inspect count head tail peek tree
"""
_ACTS = """
    write append create make add insert new put post set save store upload edit modify change
    update upsert patch apply fix replace rename move mv copy cp delete remove rm unlink erase
    clear reset drop truncate purge wipe destroy kill stop start restart reboot launch spawn exec
    execute run invoke eval shell bash sh cmd command terminal sql send publish push commit merge
    deploy release submit reply respond forward approve accept reject deny grant revoke share
    invite subscribe unsubscribe install uninstall enable disable toggle mark lock unlock open
    close pay charge refund transfer buy sell order book cancel fetch download web http url browse
    browser mutate process sync import generate schedule assign archive restore rotate encrypt
    decrypt format play record watch wait sleep block allow
"""

READS = frozenset(_READS.split())
"""First words of names of tools that only read."""

ACTS = frozenset(_ACTS.split())
"""Words that say that a tool does something, or that its call leaves the machine."""

_NAMESPACE = re.compile(r"__|[.:/]")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def only_reads(name: str) -> bool:
    """Whether the name says that its tool only reads.

    `mcp__files__read_file`, `ListFiles`, `Glob` do; `read_and_delete`, `todo_read`, `bash` do not.
    """
    words = words_of(_NAMESPACE.split(name)[-1])
    return bool(words) and words[0] in READS and not ACTS.intersection(words)


def words_of(name: str) -> list[str]:
    """The words of a name in snake, kebab or camel case, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]
