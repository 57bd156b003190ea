"""Arguments that plainly fit a flat schema are admitted without jsonschema, which would too."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakeprovider_harness.tooling.toolbox import _fits_plainly, _plain, validator

NAMES = st.sampled_from("abc")
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(
            NAMES,
            st.fixed_dictionaries(
                {"type": st.sampled_from(["string", "integer", "boolean", "number"])},
                optional={"minimum": st.just(3)},
            ),
        ),
        "required": st.lists(NAMES, unique=True),
        "additionalProperties": st.booleans(),
    },
).map(json.dumps)


@given(SCHEMAS, st.dictionaries(NAMES, VALUES))
def test_what_fits_plainly_is_valid(schema: str, arguments: dict[str, object]) -> None:
    if _fits_plainly(schema, arguments):
        assert validator(schema).is_valid(arguments)


@pytest.mark.parametrize(
    "schema",
    [
        "{}",
        "[]",
        "1",
        '{"type":"array"}',
        '{"type":"object","required":["a","a"]}',
        '{"type":"object","required":[1]}',
        '{"type":"object","properties":{"a":{"type":"number"}}}',
        '{"type":"object","properties":{"a":{"type":"string","enum":["b"]}}}',
        '{"type":"object","properties":{"a":true}}',
        '{"type":"object","minProperties":1}',
    ],
)
def test_a_schema_that_says_more_is_left_to_jsonschema(schema: str) -> None:
    assert _plain(schema) is None


def test_a_run_with_plain_tools_never_imports_jsonschema() -> None:
    code = (
        "import sys\n"
        "from fakeprovider_harness import tool\n"
        "from fakeprovider_harness.models.base import Call\n"
        "from fakeprovider_harness.tooling.toolbox import Toolbox\n"
        "@tool\n"
        "def read(path: str, lines: int) -> str:\n"
        "    '''Read a file.'''\n"
        "    return path\n"
        "box = Toolbox([read])\n"
        "checked = box.check(Call('1', 'read', '{\"path\": \"a\", \"lines\": 2}'))\n"
        "print(checked.complaint, 'jsonschema' in sys.modules)\n"
        "checked = box.check(Call('1', 'read', '{\"path\": \"a\", \"lines\": true}'))\n"
        "print(checked.complaint, 'jsonschema' in sys.modules)\n"
    )
    lines = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert lines[0] == " False"
    assert "True is not of type 'integer'" in lines[1]
    assert lines[1].endswith(" True")
