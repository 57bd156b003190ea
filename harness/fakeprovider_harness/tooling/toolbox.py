"""The tools of a run by name, and what is wrong with a call before anything is run."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.models.base import Call, ToolSpec
from fakeprovider_harness.models.wire import mend_tree
from fakeprovider_harness.tools import Arguments, Tool

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

CLIP = 200  # characters of the model's own text that a complaint quotes


@dataclass(frozen=True)
class Checked:
    """A call as the tools see it: its arguments, or the complaint the model reads instead."""

    arguments: Arguments | None = None
    complaint: str = ""


class Toolbox:
    """Tools by name.

    Raises `TypeError` for what is no `Tool`, `ValueError` for two of one name or a schema that is
    none.
    """

    def __init__(self, tools: Iterable[Tool], more: Iterable[Tool] = ()) -> None:
        if isinstance(tools, Tool):
            raise TypeError(f"tools is a list of tools: pass [{tools.name}], not one tool")
        if not isinstance(tools, Iterable):
            raise TypeError(f"tools is a list of tools, not {tools!r}")
        self._tools: dict[str, Tool] = {}
        for tool in (*tools, *more):
            self._add(tool)
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in self._tools.values())
        """What the model is told of each."""

    def _add(self, tool: Tool) -> None:
        if not isinstance(tool, Tool):
            raise TypeError(_no_tool(tool))
        if tool.name in self._tools:
            raise ValueError(f"two tools are called {tool.name!r}")
        try:
            if _plain(tool.schema) is None:
                validator(tool.schema)
        except ValueError as error:
            raise ValueError(f"tool {tool.name!r}: {error}") from error
        self._tools[tool.name] = tool

    def check_price(self, pricing: Pricing, budget: bool) -> None:
        """Have each tool that runs an agent check that it can be paid for: see `Tool`."""
        for tool in self._tools.values():
            if tool.check_price is not None:
                tool.check_price(pricing, budget)

    def get(self, name: str) -> Tool | None:
        """The tool of that name, if there is one."""
        return self._tools.get(name)

    def check(self, call: Call) -> Checked:
        """Parse and validate; runs nothing, and never raises for what a model wrote."""
        tool = self._tools.get(call.name)
        if tool is None:
            return Checked(complaint=self._no_such_tool(call.name))
        arguments, problem = parse_arguments(call.arguments)
        if problem:
            return Checked(complaint=_not_json(call, problem))
        if not isinstance(arguments, dict):
            shown = json.dumps(arguments)[:CLIP]
            return Checked(complaint=_misfit_words(tool, f"$: {shown} is not an object"))
        problem = _misfit(tool, arguments)
        return Checked(complaint=_misfit_words(tool, problem)) if problem else Checked(arguments)

    def _no_such_tool(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._tools, n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        there = ", ".join(self._tools) or "none"
        return f"Error: there is no tool called {name[:CLIP]!r}.{hint} Available tools: {there}."


def _no_tool(value: object) -> str:
    if not callable(value):
        made = "make one of a function with fakeprovider_harness.tool, or build a Tool"
        return f"{value!r} is no tool: {made}"
    name = getattr(value, "__name__", repr(value))
    return f"{name} is a function and no tool: pass tool({name}), or put @tool above it"


def _misfit(tool: Tool, arguments: Arguments) -> str:
    problem = _schema_problem(tool, arguments)
    if problem:
        return problem
    try:
        tool.bind(arguments)
    except (TypeError, msgspec.ValidationError) as error:
        return str(error)
    return ""


def _schema_problem(tool: Tool, arguments: Arguments) -> str:
    if _fits_plainly(tool.schema, arguments):
        return ""
    from jsonschema.exceptions import best_match

    error = best_match(validator(tool.schema).iter_errors(arguments))
    return "" if error is None else f"{error.json_path}: {error.message[:CLIP]}"


class _Property(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["string", "integer", "boolean"]


class _PlainSchema(msgspec.Struct, forbid_unknown_fields=True):
    """A schema that asks for texts, whole numbers and flags, and says nothing else."""

    type: Literal["object"]
    properties: dict[str, _Property] = {}
    required: list[str] = []


TYPES = {"string": str, "integer": int, "boolean": bool}


@lru_cache(maxsize=256)
def _plain(schema: str) -> _PlainSchema | None:
    """The schema, if it is plain: then neither it nor what fits it needs jsonschema."""
    try:
        plain = msgspec.json.decode(schema, type=_PlainSchema)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    return plain if len(set(plain.required)) == len(plain.required) else None


def _fits_plainly(schema: str, arguments: Arguments) -> bool:
    """Whether a plain schema admits the arguments; False decides nothing."""
    plain = _plain(schema)
    return (
        plain is not None
        and isinstance(arguments, dict)
        and all(name in arguments for name in plain.required)
        and all(
            type(arguments[name]) is TYPES[wanted.type]
            for name, wanted in plain.properties.items()
            if name in arguments
        )
    )


@lru_cache(maxsize=256)
def validator(schema: str) -> Validator:
    """The validator of a JSON Schema given as text; raises `ValueError` where it is none.

    jsonschema is imported here: it takes longer to import than the rest of the harness.
    """
    from jsonschema import Draft202012Validator, SchemaError
    from jsonschema.validators import validator_for

    value = json.loads(schema)
    kind = validator_for(value, default=Draft202012Validator)
    try:
        kind.check_schema(value)
    except SchemaError as error:
        raise ValueError(error.message) from error
    return kind(value)


def parse_arguments(text: str) -> tuple[Any, str]:
    """The JSON value, strict, and what is wrong with the text; no text at all is no arguments."""
    if not text.strip():
        return {}, ""
    try:
        return mend_tree(json.loads(text, parse_constant=_refuse)), ""
    except RecursionError:
        return None, "nested too deeply"
    except ValueError as error:
        return None, str(error)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _not_json(call: Call, problem: str) -> str:
    cut = " They end in the middle: send the call again, in smaller pieces if it is long."
    return (
        f"Error: the arguments of {call.name} are not valid JSON ({problem}); nothing was run."
        f"{cut if _ends_early(call.arguments) else ''} You sent: {call.arguments[:CLIP]}"
    )


def _ends_early(text: str) -> bool:
    """Whether JSON is fine as far as it goes: it was cut, whatever the finish reason says."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        open_text = error.msg.startswith("Unterminated string")
        return open_text or error.pos >= len(text.rstrip())
    except (ValueError, RecursionError):
        return False
    return False


def _misfit_words(tool: Tool, problem: str) -> str:
    return f"Error: the arguments do not fit {tool.name}; nothing was run. {problem}."
