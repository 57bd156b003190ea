"""The smallest arguments always validate; what cannot be had is said with its place."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from fakeprovider.fitting.argument_texts import matching
from fakeprovider.fitting.arguments import Unsatisfiable, smallest_arguments


def needing(schema: Any, **more: Any) -> dict[str, Any]:
    """A tool whose one required argument is `x`."""
    return {"type": "object", "properties": {"x": schema}, "required": ["x"], **more}


def argument(schema: Any, **more: Any) -> Any:
    parameters = needing(schema, **more)
    arguments = smallest_arguments(parameters)
    cls = validator_for(parameters, default=Draft202012Validator)
    cls(parameters, format_checker=cls.FORMAT_CHECKER).validate(arguments)
    return arguments["x"]


@pytest.mark.parametrize("schema", [None, {}, {"type": "object"}, {"properties": {"x": {}}}])
def test_what_is_not_required_is_left_out(schema: Any) -> None:
    assert smallest_arguments(schema) == {}


@pytest.mark.parametrize(
    ("schema", "smallest"),
    [
        ({"type": "string"}, ""),
        ({"type": "integer"}, 0),
        ({"type": "number"}, 0),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "object"}, {}),
        ({}, ""),
        (True, ""),
        ({"description": "untyped", "minimum": 3}, 3),
        ({"minItems": 1}, [""]),
        ({"minimum": 5, "maximum": 3}, ""),
        ({"type": ["string", "null"]}, None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, None),
        ({"type": "integer", "default": 7}, 7),
        ({"type": "integer", "default": "wrong"}, 0),
        ({"enum": ["b", "a"]}, "b"),
        ({"enum": ["b", "a"], "default": "a"}, "a"),
        ({"type": "string", "enum": [1, "a"]}, "a"),
        ({"const": {"deep": [1]}}, {"deep": [1]}),
        ({"allOf": [{"enum": [1, 2, 3]}, {"enum": [3, 2]}]}, 3),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "exclusiveMinimum": 3}, 4),
        ({"type": "integer", "exclusiveMaximum": -3}, -4),
        ({"type": "integer", "minimum": -5, "maximum": 5}, 0),
        ({"type": "integer", "minimum": 1, "multipleOf": 7}, 7),
        ({"type": "integer", "minimum": 1, "allOf": [{"multipleOf": 4}, {"multipleOf": 6}]}, 12),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.1),
        ({"type": "number", "minimum": 0.25, "maximum": 0.25}, 0.25),
        ({"type": "number", "minimum": 0.3, "multipleOf": 0.1}, 0.4),  # 0.3 / 0.1 < 3 in floats
        ({"type": "number", "exclusiveMinimum": 1e-9, "maximum": 2e-9}, 2e-9),
        ({"type": "string", "minLength": 3}, "aaa"),
        ({"type": "string", "pattern": "^[A-Z]{2}-\\d+$"}, "AA-0"),
        ({"type": "string", "pattern": "^(cat|dog)s?$", "minLength": 4}, "cats"),
        ({"type": "string", "pattern": "^[a-z]+$", "minLength": 40, "maxLength": 40}, "a" * 40),
        ({"type": "string", "pattern": "^(?=.*\\d)(?=.*[A-Z]).{8,}$"}, "0Aaaaaaa"),
        ({"type": "string", "pattern": "^(\\w)\\1$"}, "aa"),
        ({"type": "string", "pattern": "^[\\u4e00-\\u9fff]$"}, "\u4e00"),
        ({"type": "string", "pattern": "b", "minLength": 3}, "baa"),
        ({"type": "string", "format": "date"}, "2000-01-01"),
        ({"type": "string", "format": "uuid"}, "00000000-0000-0000-0000-000000000000"),
        ({"type": "string", "format": "email", "minLength": 20}, "aaaaaaaa@example.com"),
        ({"type": "string", "format": "made-up"}, ""),
        ({"type": "array", "minItems": 2, "items": {"type": "integer"}}, [0, 0]),
        (
            {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "integer"}},
            [0, 1, -1],
        ),
        ({"type": "array", "minItems": 3, "uniqueItems": True}, ["", "a", "b"]),
        (
            {"minItems": 2, "uniqueItems": True, "prefixItems": [{"enum": [1, 2]}, {"const": 1}]},
            None,
        ),
        (
            {"type": "array", "prefixItems": [{"const": 1}], "minItems": 2, "items": {"const": 2}},
            None,
        ),
        ({"type": "array", "contains": {"const": 5}}, [5]),
        ({"type": "array", "contains": {"const": 5}, "minContains": 2, "minItems": 3}, [5, 5, ""]),
        ({"type": "object", "minProperties": 2}, {"a": "", "b": ""}),
        ({"minProperties": 1, "propertyNames": {"pattern": "^x-"}}, {"x-": ""}),
        ({"minProperties": 1, "propertyNames": {"enum": ["only"]}}, {"only": ""}),
        (
            {
                "minProperties": 1,
                "patternProperties": {"^n": {"const": 1}},
                "additionalProperties": False,
            },
            {"n": 1},
        ),
        ({"required": ["a"], "additionalProperties": {"type": "integer"}}, {"a": 0}),
        ({"required": ["a"], "dependentRequired": {"a": ["b"]}}, {"a": "", "b": ""}),
        ({"required": ["a"], "dependentSchemas": {"a": {"required": ["b"]}}}, {"a": "", "b": ""}),
        ({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 0}]}, -1),
        ({"not": {"const": ""}, "type": "string"}, "a"),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "type": "object"}, {}),
        ({"if": {"const": 1}, "then": {}, "else": {"const": 2}, "enum": [2, 3]}, 2),
        ({"type": "string", "pattern": "(?<=x)y", "examples": ["no", "xy"]}, "xy"),
    ],
)
def test_the_smallest_value_of_each_keyword(schema: Any, smallest: Any) -> None:
    value = argument(schema)
    if smallest is not None or "null" in json.dumps(schema):
        assert value == smallest


def test_a_result_validates_whether_or_not_formats_are_asserted() -> None:
    """Under `not`, a value that is no date is admitted only where formats are asserted."""
    schema = needing({"not": {"type": "string", "format": "date"}})
    arguments = smallest_arguments(schema)
    Draft202012Validator(schema).validate(arguments)
    Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(
        arguments
    )


def test_bool_and_number_are_not_taken_for_one_another() -> None:
    assert argument({"enum": [True, 1], "type": "integer"}) is not True
    assert argument({"const": True}) is True


def test_properties_that_all_parts_describe_must_satisfy_all_of_them() -> None:
    value = argument(
        {
            "allOf": [
                {"properties": {"n": {"type": "integer"}}, "required": ["n"]},
                {"properties": {"n": {"minimum": 4}}},
            ],
            "properties": {"n": {"multipleOf": 3}},
        }
    )
    assert value == {"n": 6}


def test_references_are_followed_also_recursive_ones() -> None:
    node = {
        "type": "object",
        "required": ["value", "next"],
        "properties": {
            "value": {"$ref": "#/$defs/value"},
            "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
        },
    }
    definitions = {"node": node, "value": {"$anchor": "v", "type": "integer", "minimum": 2}}
    assert argument({"$ref": "#/$defs/node"}, **{"$defs": definitions}) == {
        "value": 2,
        "next": None,
    }
    assert argument({"$ref": "#v"}, **{"$defs": definitions}) == 2


def test_a_wide_recursive_grammar_is_searched_shallow_first() -> None:
    branches = [
        {"type": "object", "required": ["l", "r"], "properties": {"l": ref, "r": ref}}
        for ref in [{"$ref": "#/$defs/term"}, {"$ref": "#/$defs/other"}] * 4
    ]
    definitions = {
        "term": {"anyOf": [*branches, {"type": "integer", "minimum": 1}]},
        "other": {"anyOf": [*branches, {"type": "boolean"}]},
    }
    assert argument({"$ref": "#/$defs/term"}, **{"$defs": definitions}) == 1


def test_older_drafts_are_read_in_their_own_words() -> None:
    draft4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
    draft7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
    assert argument({"type": "integer", "minimum": 3, "exclusiveMinimum": True}, **draft4) == 4
    assert argument({"items": [{"const": 1}, {"const": 2}], "minItems": 2}, **draft7) == [1, 2]
    assert argument(
        {"items": [{"const": 1}], "additionalItems": {"const": 3}, "minItems": 2}, **draft7
    ) == [1, 3]
    assert argument({"required": ["a"], "dependencies": {"a": ["b"]}}, **draft7) == {
        "a": "",
        "b": "",
    }
    assert argument({"type": "string"}, **{"$schema": "https://example.com/unknown"}) == ""


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "integer", "minimum": 5, "maximum": 3}, "arguments.x: there is no integer"),
        ({"type": "string", "minLength": 4, "maxLength": 3}, "of 4 characters or more and of at"),
        ({"type": "string", "pattern": "(?<=x)y"}, "arguments.x: found no string of pattern"),
        ({"type": "string", "pattern": "(["}, "not a JSON Schema|cannot be compiled"),
        ({"type": "string", "format": "email", "maxLength": 3}, "of format 'email'"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "no type is admitted"),
        ({"enum": []}, "arguments.x"),
        (False, "false, which admits nothing"),
        ({"not": {}}, "no value satisfies all keywords"),
        ({"$ref": "#/$defs/gone"}, "'#/\\$defs/gone' leads nowhere"),
        ({"$ref": "#/properties/x"}, "leads back to itself"),
        ({"$ref": "#"}, "it never ends"),
        ({"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "boolean"}}, "x"),
        (
            {"type": "object", "required": ["a"], "additionalProperties": False},
            "arguments.x.a: its schema is false",
        ),
        ({"type": "strin"}, "not a JSON Schema"),
    ],
)
def test_what_cannot_be_satisfied_is_a_clear_error(schema: Any, message: str) -> None:
    with pytest.raises(Unsatisfiable, match=message):
        smallest_arguments(needing(schema))


def test_arguments_are_an_object_whatever_the_schema_says() -> None:
    with pytest.raises(Unsatisfiable, match="no type is admitted"):
        smallest_arguments({"type": "array"})
    assert smallest_arguments({"enum": [[], {}]}) == {}


# Schemas that admit a drawn value by construction: the search must succeed on each of them.

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-50, 50),
    st.floats(-50, 50, allow_nan=False).map(lambda x: round(x, 3)),
    st.text(alphabet="abcXYZ019 _-", max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    ),
    max_leaves=6,
)


def kind_of(value: Any) -> str:
    names = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string"}
    return names.get(type(value), "array" if isinstance(value, list) else "object")


@st.composite
def admitting(draw: st.DrawFn, value: Any) -> dict[str, Any]:
    """A schema that admits `value`."""
    schema = draw(described(value))
    match draw(st.integers(0, 7)):
        case 0:
            return {"enum": [*draw(st.lists(SCALARS, max_size=2)), value]}
        case 1:
            return {"anyOf": [{"type": "integer", "minimum": 9, "maximum": 8}, schema]}
        case 2:
            return {"allOf": [schema, draw(described(value))]}
        case 3:
            return {**schema, "type": list(dict.fromkeys([schema["type"], "boolean"]))}
        case 4:
            return {"oneOf": [schema, {"type": kind_of(value), "not": schema}]}
    return schema


@st.composite
def described(draw: st.DrawFn, value: Any) -> dict[str, Any]:
    kind = kind_of(value)
    schema: dict[str, Any] = {"type": kind}

    def some(keyword: str, setting: Any) -> None:
        if draw(st.booleans()):
            schema[keyword] = setting

    if kind in ("integer", "number"):
        some("minimum", value - draw(st.integers(0, 3)))
        some("exclusiveMaximum", math.ceil(value) + draw(st.integers(1, 3)))
        if kind == "integer":
            some("multipleOf", draw(st.sampled_from([abs(value) or 1, 1])))
    elif kind == "string":
        some("minLength", draw(st.integers(0, len(value))))
        some("maxLength", len(value) + draw(st.integers(0, 2)))
        some("pattern", draw(patterns(value)))
    elif kind == "array":
        some("minItems", draw(st.integers(0, len(value))))
        some("maxItems", len(value) + draw(st.integers(0, 2)))
        if value:
            some("prefixItems", [draw(admitting(one)) for one in value])
    elif kind == "object":
        some("properties", {name: draw(admitting(one)) for name, one in value.items()})
        some(
            "required", draw(st.lists(st.sampled_from(sorted(value)), unique=True)) if value else []
        )
        some("minProperties", draw(st.integers(0, len(value))))
        some("maxProperties", len(value))
        if set(value) <= set(schema.get("properties", {})):
            some("additionalProperties", False)
    return schema


def patterns(value: str) -> st.SearchStrategy[str]:
    """Regular expressions that find something in the text."""
    literal = re.escape(value)
    shape = "".join(r"\d" if c.isdigit() else "[a-z]" if c.islower() else "." for c in value)
    return st.sampled_from(
        [literal, f"^{literal}$", f"^{shape}$", "^.*$", r"^[\w \-]*$", f"({literal}|zz)", "a?"]
    )


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4).flatmap(admitting))
def test_a_schema_that_admits_something_gets_arguments_that_validate(schema: Any) -> None:
    arguments = smallest_arguments(schema)
    checker = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert list(checker.iter_errors(arguments)) == []
    assert smallest_arguments(schema) == arguments


ANYTHING = st.recursive(
    st.one_of(
        st.booleans(),
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["string", "integer", "object", "array", "null"]),
                "minimum": st.integers(-5, 5),
                "maximum": st.integers(-5, 5),
                "minLength": st.integers(0, 3),
                "maxLength": st.integers(0, 3),
                "enum": st.lists(SCALARS, min_size=1, max_size=3),
                "format": st.sampled_from(["date", "uuid", "ipv4", "email"]),
                "$ref": st.sampled_from(["#", "#/properties/a", "#/$defs/gone"]),
            },
        ),
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array"]),
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "required": st.lists(st.sampled_from("abc"), unique=True, max_size=3),
            "additionalProperties": inner,
            "items": inner,
            "minItems": st.integers(0, 3),
            "uniqueItems": st.booleans(),
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "oneOf": st.lists(inner, min_size=1, max_size=3),
            "not": inner,
        },
    ),
    max_leaves=8,
).filter(lambda schema: isinstance(schema, dict))


@settings(max_examples=100, deadline=None)
@given(ANYTHING)
def test_any_schema_gets_valid_arguments_or_a_reason_and_an_end(schema: Any) -> None:
    try:
        arguments = smallest_arguments(schema)
    except Unsatisfiable as error:
        reason = str(error)
    else:
        Draft202012Validator(schema).validate(arguments)
        return
    assert reason


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["a", "[b-d]", r"\d", "(?:x|yy)", r"\s", r"\W", "[^a-z]", "z{2,3}", "q*?"]),
        max_size=5,
    ).map("".join),
    st.integers(0, 6),
)
def test_strings_made_for_a_pattern_match_it_whole(pattern: str, at_least: int) -> None:
    anchored = f"^{pattern}$"
    for text in matching(anchored, at_least):
        assert re.search(anchored, text)
    assert next(matching(anchored), None) is not None
