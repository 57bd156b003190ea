"""The shape of the house: rooms are few, files are chapters, functions fit a glance."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "fakeprovider": ROOT / "fakeprovider",
    "fakeprovider_harness": ROOT / "harness/fakeprovider_harness",
    "fakeprovider_scenarios": ROOT / "scenarios/fakeprovider_scenarios",
    "fakeprovider_bench": ROOT / "benchmarks/fakeprovider_bench",
}
FIRST_FLOOR = {
    "fakeprovider": 16,
    "fakeprovider_harness": 14,
    "fakeprovider_scenarios": 5,
    "fakeprovider_bench": 14,
}
"""Modules on the first floor of each package: a table of contents is read at a glance."""

UNMAPPED = {"endpoint.py", "policies.py", "restart.py"}
"""Modules of the bench whose names say all."""

LONGEST_FILE, LONGEST_FUNCTION, MEDIAN_FILE = 400, 40, 100
SOURCES = [path for folder in PACKAGES.values() for path in sorted(folder.rglob("*.py"))]


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each function of a module with its lines, decorators included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield f"{path.relative_to(ROOT)}: {node.name}", (node.end_lineno or first) - first + 1


@pytest.mark.parametrize("package", PACKAGES)
def test_the_first_floor_of_a_package_is_a_table_of_contents(package: str) -> None:
    names = [path.stem for path in PACKAGES[package].glob("*.py") if not path.stem.startswith("__")]
    assert len(names) <= FIRST_FLOOR[package], sorted(names)


def test_the_map_names_what_is_there_and_leaves_out_no_room() -> None:
    """Every path in ARCHITECTURE.md leads somewhere; each room and first-floor module is in it."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w*/.-]+(?:\.py|\.md|/))`", text))
    bases = [ROOT, *PACKAGES.values(), *(folder.parent for folder in PACKAGES.values())]
    lost = [name for name in named if not any(list(base.glob(name)) for base in bases)]
    assert lost == []
    words = {name.rstrip("/").rpartition("/")[2] for name in named}
    for folder in PACKAGES.values():
        rooms = {path.parent.name for path in folder.glob("*/__init__.py")}
        modules = {path.name for path in folder.glob("*.py") if not path.stem.startswith("__")}
        assert (rooms | modules) - words - UNMAPPED == set()


@pytest.mark.parametrize("folder", [*PACKAGES.values(), ROOT / "tests"], ids=lambda path: path.name)
def test_no_file_is_longer_than_a_chapter(folder: Path) -> None:
    long = {str(path.relative_to(ROOT)): lines_of(path) for path in folder.rglob("*.py")}
    assert {path: lines for path, lines in long.items() if lines > LONGEST_FILE} == {}


def test_files_are_chapters_and_not_a_line_or_two() -> None:
    modules = [path for path in SOURCES if not path.stem.startswith("__")]
    assert median(map(lines_of, modules)) > MEDIAN_FILE


def test_functions_fit_a_glance() -> None:
    lengths = dict(each for path in SOURCES for each in functions(path))
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}
    assert sorted(lengths.values())[len(lengths) * 9 // 10] <= 25
