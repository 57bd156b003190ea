"""Client presets: how known agents' own tools stand in for a script's, and how they want to end.

Stand-ins are harmless: they list, they print a file of the working directory, or they echo what
the script had asked for. Names and arguments as observed for the versions in docs/clients.md.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from fakeprovider.conversation import Conversation
from fakeprovider.registry import Registry
from fakeprovider.replies import ToolCall, arguments_object, call

Arguments: TypeAlias = Mapping[str, Any]
Shell: TypeAlias = Callable[[str], Arguments]
"""From a shell command to the arguments of a tool that runs it."""

SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""What mini-swe-agent takes for the end, as the first line that a command prints."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One client.

    shells: its tools that run a shell command. closings: the tools that end a run, with the
    arguments for an answer. closing_command: the command that ends it, if its shell does that.
    made_up: how many assistant messages of a history the client wrote itself; they are no turns.
    """

    name: str
    shells: tuple[tuple[str, Shell], ...] = ()
    closings: tuple[tuple[str, str], ...] = ()
    closing_command: Callable[[str], str] | None = None
    made_up: Callable[[Conversation], int] | None = None

    def stand_in(self, wanted: ToolCall, conversation: Conversation) -> ToolCall | None:
        """A harmless call of one of the client's own tools, None if it offers none of them."""
        return self._run(harmless_command(wanted), conversation)

    def closing(self, answer: str, conversation: Conversation) -> ToolCall | None:
        """The call by which the client ends its run with this answer; None if words will do."""
        for tool, argument in self.closings:
            if _fits(conversation, tool, {argument: answer}):
                return call(tool, {argument: answer})
        if self.closing_command is None:
            return None
        return self._run(self.closing_command(answer), conversation)

    def _run(self, command: str, conversation: Conversation) -> ToolCall | None:
        """A call of the first of its shells that is offered, with this command."""
        for tool, shell in self.shells:
            arguments = shell(command)
            if _fits(conversation, tool, arguments):
                return call(tool, arguments)
        return None


def harmless_command(wanted: ToolCall) -> str:
    """A shell command that stands for a call: it lists, prints a file beneath it, or echoes."""
    arguments = arguments_object(wanted.arguments) or {}
    if wanted.name == "list_files":
        return "ls"
    path = arguments.get("path")
    if wanted.name == "read_file" and isinstance(path, str) and _stays_below(path):
        return f"cat -- {shlex.quote(path)}"
    return f"echo {shlex.quote(f'{wanted.name} {wanted.arguments}')}"


def _stays_below(path: str) -> bool:
    parts = PurePosixPath(path)
    return bool(parts.parts) and not parts.is_absolute() and ".." not in parts.parts


def _fits(conversation: Conversation, tool: str, arguments: Arguments) -> bool:
    """Whether a tool of that name is offered that takes the arguments."""
    from fakeprovider.fitting.arguments import admits

    return any(
        offered.name == tool and admits(offered.parameters, arguments)
        for offered in conversation.tools
    )


def _only(argument: str) -> Shell:
    return lambda command: {argument: command}


def _described(argument: str) -> Shell:
    return lambda command: {argument: command, "description": "Runs a harmless command"}


def _submit(answer: str) -> str:
    return f"echo {SUBMIT} && echo {shlex.quote(answer)}"


_AIDER_EXAMPLES_END = "I switched to a new code base."
_AIDER_SAYS = (
    _AIDER_EXAMPLES_END,
    "I am not sharing any files that you can edit yet.",
    "I have *added these files to the chat*",
    "Don't try and edit any existing code without asking me",
    "Here are summaries of some files present in my git repository.",
    "Here are some READ ONLY files",
    "I updated the files.",
    "I committed the changes with git hash",
)


def _made_up_by_aider(conversation: Conversation) -> int:
    """Its examples, and the Ok with which it answers what it says for the user.

    How many there are depends on the edit format and on which files were added.
    """
    messages = conversation.messages
    ends = (i for i, message in enumerate(messages) if message.text.startswith(_AIDER_EXAMPLES_END))
    end = next(ends, 0)
    return sum(
        message.role == "assistant"
        and (place < end or messages[place - 1].text.startswith(_AIDER_SAYS))
        for place, message in enumerate(messages)
    )


_CODEX: tuple[tuple[str, Shell], ...] = (
    ("exec_command", _only("cmd")),
    ("shell_command", _only("command")),
    ("shell", lambda command: {"command": ["bash", "-lc", command]}),
)

PRESETS: Registry[Preset] = Registry("client preset")
"""The presets by the name that `--client` and the path parameter `client` take."""


def _register(preset: Preset) -> None:
    PRESETS.add(preset.name, preset)


_register(Preset("codex", shells=_CODEX))
_register(Preset("claude-code", shells=(("Bash", _described("command")),)))
_register(Preset("opencode", shells=(("bash", _described("command")),)))
_register(Preset("mini-swe-agent", shells=(("bash", _only("command")),), closing_command=_submit))
_register(Preset("smolagents", closings=(("final_answer", "answer"),)))
_register(
    Preset(
        "inspect",
        shells=(("bash", _only("cmd")), ("bash", _only("command"))),
        closings=(("submit", "answer"),),
    )
)
_register(Preset("aider", made_up=_made_up_by_aider))
