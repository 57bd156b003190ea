"""Whether given arguments fit a tool's JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema.validators import validator_for
from referencing.exceptions import Unresolvable

from fakeprovider.fitting.arguments.loops import too_nested


def admits(schema: Mapping[str, Any] | None, arguments: Mapping[str, Any]) -> bool:
    """Whether `schema` (None: no demands) admits the arguments; False if it is no schema at all."""
    if schema is None:
        return True
    if too_nested(schema):
        return False
    cls = validator_for(schema, default=Draft202012Validator)
    try:
        cls.check_schema(dict(schema))
        return bool(cls(dict(schema)).is_valid(arguments))
    except (SchemaError, Unresolvable):
        return False


def parsed(arguments: str) -> dict[str, Any] | None:
    """The object that an arguments string is, None if it is anything else."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
