"""The page about faults: its list is made from the code, and its snippets run."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from fakeprovider.faults import FAULTS
from fakeprovider.faults.registry import LIST, PAGE, listing, replaced
from fakeprovider.pacing import PROFILES
from fakeprovider.protocols.dialect import by_endpoint
from fakeprovider.serving.routing import resolve

DOCS = Path(__file__).parents[3] / PAGE


@pytest.fixture(scope="module")
def page() -> str:
    return DOCS.read_text()


def test_the_list_of_faults_is_that_of_the_code(page: str) -> None:
    """If this fails: python tests/slow/fault_table.py --list-only"""
    assert replaced(page, LIST, listing()) == page


def test_a_page_without_the_part_is_refused() -> None:
    with pytest.raises(ValueError, match="the page has no part between <!-- list of faults -->"):
        replaced("nothing", LIST, "x")


def test_every_fault_met_an_official_sdk(page: str) -> None:
    """If this fails: python tests/slow/fault_table.py"""
    sdks = page.partition("<!-- official SDKs -->")[2]
    met = {name for name, kind in FAULTS.items() if kind.count is None}
    assert {name for name in met if f"| `{name}` | " not in sdks} == set()


def test_the_profiles_are_those_of_the_code(page: str) -> None:
    rows = re.findall(r"^\| `([\w.-]+)` \| ([\d.]+) s \| ([\d.]+) \|", page, re.MULTILINE)
    told = {name: (float(first), float(speed)) for name, first, speed in rows}
    expected = {
        name: (profile.pace.first_token, profile.pace.tokens_per_second)
        for name, profile in PROFILES.items()
        if profile.pace.first_token
    }
    assert told == expected


def test_the_snippet_in_python_runs(page: str, http: httpx.Client) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    statuses: list[list[int]] = []

    def told(url: str) -> None:
        body = {"model": "m", "messages": [{"role": "user", "content": "go"}]}
        statuses.append(
            [http.post(f"{url}/chat/completions", json=body).status_code for _ in "123"]
        )

    exec(block.replace("print(", "told("), {"told": told})
    assert statuses == [[503, 503, 200], [200, 200, 200]]


def test_the_paths_of_the_page_are_understood(page: str) -> None:
    paths = re.findall(r"http://127\.0\.0\.1:8080(/\S+)", page)
    assert len(paths) == 2
    for path in paths:
        route = resolve(f"{path}/chat/completions", by_endpoint())
        assert route is not None
        assert route.error == ""
