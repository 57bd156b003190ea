"""What a test may give as a script, made into one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from fakeprovider.conversation import Conversation
from fakeprovider.faults import BadFault, plan
from fakeprovider.fitting.tool_mapping import Target
from fakeprovider.replies import Fault, Reply
from fakeprovider.scripts.reply_sequence import Replies
from fakeprovider.serving import path_options

Given: TypeAlias = str | Path | Reply | Sequence[Reply | str] | Callable[[Conversation], Reply]
"""A script's name, YAML (a path, or a text of several lines), a reply, a list of replies, or a
function."""

Faults: TypeAlias = str | Fault | Sequence[str | Fault]
"""`"rate_limited,turn=1,times=2"`, a `Fault`, or several of them."""

Mapped: TypeAlias = Mapping[str, str | Target]


@dataclass(frozen=True, slots=True)
class Inline:
    """A script in the test's own hands: its function, and its turns if it says how many."""

    script: Callable[[Conversation], Reply]
    turns: int | None = None


@dataclass(frozen=True)
class _WithTools:
    """A script whose calls are mapped to the client's tools."""

    script: Callable[[Conversation], Reply]
    tools: Mapping[str, Target] = field(default_factory=dict)

    def __call__(self, conversation: Conversation) -> Reply:
        return self.script(conversation)


def read(script: Given) -> Inline | str:
    """The script, or the name of one that the provider has.

    Raises `BadScripts` for YAML that is none, `TypeError` for what is no script.
    """
    __tracebackhide__ = True
    if isinstance(script, Path) or (isinstance(script, str) and _is_yaml(script)):
        return _yaml(script)
    if isinstance(script, str):
        return script
    if isinstance(script, Reply):
        script = Replies(script)
    if isinstance(script, Sequence):
        script = Replies(*map(_reply, script))
    if not callable(script):
        raise TypeError(f"{script!r} is no script: give a name, replies, YAML or a function")
    turns = getattr(script, "turns", None)
    return Inline(script, turns if isinstance(turns, int) else None)


def _reply(reply: Reply | str) -> Reply | str:
    """The reply; raises `TypeError` for what is none."""
    __tracebackhide__ = True
    if not isinstance(reply, Reply | str):
        kind = type(reply).__name__
        raise TypeError(f"a list of replies has texts and Replies, not {reply!r} ({kind})")
    return reply


def mapped(script: Callable[[Conversation], Reply], tools: Mapped) -> _WithTools:
    """The script with a mapping from its tools to the client's."""
    own: Mapping[str, Target] = getattr(script, "tools", None) or {}
    targets = {name: to if isinstance(to, Target) else Target(to) for name, to in tools.items()}
    return _WithTools(script, {**own, **targets})


def trouble_path(faults: Faults | None, chaos: float | None, seed: int) -> str:
    """Faults and chaos as path parameters, "" for none.

    Raises `BadFault`, `TypeError` for what is no fault, and `ValueError` for a value that no path
    can carry.
    """
    __tracebackhide__ = True
    several = () if faults is None else [faults] if isinstance(faults, str | Fault) else faults
    words = [f"fault={_words(fault)}" for fault in several]
    if chaos:
        words.append(f"chaos={chaos},seed={seed}")
        _check(words[-1])
    return "".join(f";{word}" for word in words)


def _check(words: str) -> None:
    """Raise `BadFault` now: in a request it would be an answer that an agent may swallow."""
    __tracebackhide__ = True
    try:
        path_options.parse(words)
    except path_options.BadParameter as error:
        raise BadFault(str(error)) from None


def _words(fault: str | Fault) -> str:
    """A fault as a path has it."""
    __tracebackhide__ = True
    if isinstance(fault, str):
        _check(f"fault={fault}")
        return fault
    if not isinstance(fault, Fault):
        raise TypeError(f"{fault!r} is no fault: give a name, with parameters if any, or a Fault")
    plan(fault.name, fault.params)
    words = [fault.name, *(f"{name}={value}" for name, value in fault.params.items())]
    for word in words:
        if any(character in word for character in ",;/"):
            raise ValueError(f"{word!r}: a path cannot carry it; name the fault in the reply")
    return ",".join(words)


def _is_yaml(text: str) -> bool:
    return "\n" in text or text.endswith((".yaml", ".yml"))


def _yaml(source: Path | str) -> Inline:
    """The script of a file, or of a text of several lines."""
    __tracebackhide__ = True
    from fakeprovider.yamlscripts import BadScripts, YamlScript, read_script  # loads yaml

    if isinstance(source, str) and "\n" in source:
        text, name = source, "inline"
    else:
        text, name = Path(source).read_text(encoding="utf-8"), Path(source).stem
    script, problems = read_script(text, name, f"{name}.yaml")
    if script is None:
        raise BadScripts(problems)
    turns = script.program.length if isinstance(script, YamlScript) else None
    return Inline(script, turns)
