"""Which files a set of patterns means."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

TESTS = (
    "test_*.py",
    "*_test.py",
    "tests/*",
    "conftest.py",
    "pytest.ini",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
)
"""What decides a test's outcome in a Python project: tests, and what configures them."""

NOISE = ("__pycache__/*", ".git/*", ".pytest_cache/*", ".hypothesis/*", "*.pyc")
"""What running tests leaves behind."""


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a relative POSIX path fits a pattern.

    `*` crosses slashes. A pattern without a slash is held against the file's name, wherever it
    lies; one that begins with a directory, also against that directory further down.
    """
    name = PurePosixPath(path).name
    return any(
        fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}")
        if "/" in pattern
        else fnmatchcase(name, pattern)
        for pattern in patterns
    )


def relative(root: str | Path, path: str) -> str | None:
    """Where `path` really lies under `root`, links followed, as a POSIX path; None if outside."""
    base = Path(root).resolve()
    place = (base / path).resolve()
    return place.relative_to(base).as_posix() if place.is_relative_to(base) else None
