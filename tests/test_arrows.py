"""Which package may import which: asserted on the source, so that no order of imports hides it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Collection, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = {
    "fakeprovider",
    "fakeprovider_harness",
    "fakeprovider_scenarios",
    "fakeprovider_bench",
    "tests",
}
FOLDERS = {
    "fakeprovider": ROOT / "fakeprovider",
    "fakeprovider_harness": ROOT / "harness",
    "fakeprovider_scenarios": ROOT / "scenarios",
    "fakeprovider_bench": ROOT / "benchmarks",
}
ALLOWED = {
    "fakeprovider": {"fakeprovider"},
    "fakeprovider_harness": {"fakeprovider_harness"},
    "fakeprovider_scenarios": {"fakeprovider_scenarios", "fakeprovider", "fakeprovider_harness"},
    "fakeprovider_bench": {
        "fakeprovider_bench",
        "fakeprovider_scenarios",
        "fakeprovider",
        "fakeprovider_harness",
    },
}


def imported(source: str) -> Iterator[str]:
    """The top-level packages that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_it_may(package: str) -> None:
    """`fakeprovider` and `harness` know nothing of ours but themselves."""
    modules = list(FOLDERS[package].rglob("*.py"))
    assert modules
    wrong = [
        (str(module.relative_to(ROOT)), name)
        for module in modules
        for name in imported(module.read_text(encoding="utf-8"))
        if name in OURS - ALLOWED[package]
    ]
    assert wrong == []


def modules() -> dict[str, Path]:
    """Every module of ours by its dotted name."""
    return {
        ".".join(path.relative_to(folder.parent if package == "fakeprovider" else folder).parts)
        .removesuffix(".py")
        .removesuffix(".__init__"): path
        for package, folder in FOLDERS.items()
        for path in folder.rglob("*.py")
    }


def edges(name: str, path: Path, known: Collection[str]) -> set[str]:
    """The modules of ours that a module imports, also late, but not for its types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: 1 - node.level or None] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                found.add(inner if inner in known else module)
    return (found & set(known)) - {name}


def test_no_import_goes_in_a_circle() -> None:
    """Neither at the top of modules nor late within functions."""
    paths = modules()
    graph = {name: edges(name, path, paths) for name, path in paths.items()}
    assert len(graph) > 100
    sorter = TopologicalSorter(graph)
    try:
        sorter.prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("package", ["fakeprovider", "fakeprovider_harness"])
def test_importing_has_no_side_effects(package: str) -> None:
    """Nothing is printed, no tokenizer is loaded, no event loop policy or signal is touched."""
    code = (
        "import sys, signal, threading\n"
        f"import {package}\n"
        "assert 'tiktoken' not in sys.modules\n"
        "assert threading.active_count() == 1\n"
        "assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_the_server_loads_no_tokenizer_before_it_counts() -> None:
    """Starting is quick: the ranks are read with the first request, or in the background."""
    code = (
        "import sys\n"
        "from fakeprovider.server import Server\n"
        "with Server('plan'): assert 'tiktoken' not in sys.modules\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_modules_and_names_of_the_harness_are_there_when_they_are_asked_for() -> None:
    code = (
        "import fakeprovider_harness as harness\n"
        "assert harness.models.ChatModel and harness.run and harness.stop.Limit\n"
        "assert {'run', 'Store', 'MaxTurns'} <= set(dir(harness))\n"
        "for name in ('nothing', 'a.b', '__wrapped__'): assert not hasattr(harness, name)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
