"""Files that must stay as they were: patterns, a baseline, and what changed."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from fakeprovider_harness.tools import Arguments, Tool
from fakeprovider_harness.verify.verifier import Claim, Verdict, Verifier, asked, failed, stale

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


Kind = Literal["added", "modified", "removed"]


class FileChange(msgspec.Struct, frozen=True):
    """One file that is not as it was; `diff` is unified, in words for what is not text."""

    path: str
    kind: Kind
    diff: str


class Changes(msgspec.Struct, frozen=True):
    """What was changed, sorted by path. What is protected is also in one of the other two."""

    code: tuple[FileChange, ...] = ()
    tests: tuple[FileChange, ...] = ()
    protected: tuple[FileChange, ...] = ()


class Baseline:
    """The files under `root` as they were when this was first made.

    They are copied to the directory `keep`, outside of `root` and of the run's reach; where it
    exists, it is the baseline, so that a resumed run is held against the same one. `tests` are
    patterns of what decides a test's outcome, `protected` of what must not change at all.
    Raises `ValueError` for a `keep` inside `root`, and for a `root` that is no directory.
    """

    def __init__(
        self,
        root: str | Path,
        keep: str | Path,
        *,
        tests: Sequence[str] = TESTS,
        protected: Sequence[str] = (),
        ignore: Sequence[str] = NOISE,
    ) -> None:
        self.root, self.keep = Path(root), Path(keep)
        self.tests, self.protected, self._ignore = tuple(tests), tuple(protected), tuple(ignore)
        if not self.root.is_dir():
            raise ValueError(f"there is no directory {root} to take a baseline of")
        if self.keep.resolve().is_relative_to(self.root.resolve()):
            raise ValueError(f"keep the baseline outside of what may change: {keep} is in {root}")
        if not self.keep.exists():
            self._take()

    def changes(self) -> Changes:
        """What is not as it was."""
        before, after = self._files(self.keep), self._files(self.root)
        found = [
            change
            for path in sorted({*before, *after})
            if (change := _change(path, before.get(path), after.get(path))) is not None
        ]
        return Changes(
            tuple(change for change in found if not matches(change.path, self.tests)),
            tuple(change for change in found if matches(change.path, self.tests)),
            tuple(change for change in found if matches(change.path, self.protected)),
        )

    @contextmanager
    def without_code_changes(self) -> Iterator[Path]:
        """A scratch copy of `root` with the tests as they are now and the code as it was."""
        with tempfile.TemporaryDirectory(prefix="scratch-") as scratch:
            copy = Path(scratch) / "project"
            self._copy(self.root, copy)
            for change in self.changes().code:
                _revert(self.keep / change.path, copy / change.path)
            yield copy

    def restore(self, path: str) -> None:
        """Bring one file back to what it was."""
        _revert(self.keep / path, self.root / path)

    def _take(self) -> None:
        """Copy, then rename: a process that dies in between leaves no half of a baseline."""
        self.keep.parent.mkdir(parents=True, exist_ok=True)
        half = Path(tempfile.mkdtemp(dir=self.keep.parent, prefix=f".{self.keep.name}-"))
        self._copy(self.root, half)
        os.replace(half, self.keep)

    def _copy(self, source: Path, target: Path) -> None:
        target.mkdir(exist_ok=True)
        for path, data in self._files(source).items():
            place = target / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)

    def _files(self, root: Path) -> dict[str, bytes]:
        found = (path for path in root.rglob("*") if path.is_file())
        named = {path.relative_to(root).as_posix(): path for path in found}
        return {
            name: path.read_bytes()
            for name, path in named.items()
            if not matches(name, self._ignore)
        }


def _change(path: str, before: bytes | None, after: bytes | None) -> FileChange | None:
    if before == after:
        return None
    kind: Kind = "added" if before is None else "removed" if after is None else "modified"
    return FileChange(path, kind, _diff(path, before or b"", after or b""))


def _diff(path: str, before: bytes, after: bytes) -> str:
    try:
        old, new = before.decode().splitlines(), after.decode().splitlines()
    except UnicodeDecodeError:
        return f"binary file: {len(before)} bytes before, {len(after)} after"
    return "\n".join(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm=""))


def _revert(before: Path, now: Path) -> None:
    if before.exists():
        now.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(before, now)
    else:
        now.unlink(missing_ok=True)


class Untouched:
    """`verifier`, held against a baseline.

    A change of a protected file fails, by whatever means it was made. A pass after other changes
    to tests is stale: they are listed, apart from the diff of the code, for a person to look at.
    `RedGreen` needs no such guard for the test that proves a fix.
    """

    def __init__(self, verifier: Verifier, baseline: Baseline) -> None:
        self._verifier, self._baseline = verifier, baseline

    async def __call__(self, claim: Claim) -> Verdict:
        changes = self._baseline.changes()
        if changes.protected:
            return failed(
                f"protected files were changed: {_names(changes.protected)}. Restore them.",
                protected=_data(changes.protected),
            )
        verdict = await asked(self._verifier, claim)
        evidence = {
            **verdict.evidence,
            "code_changes": _data(changes.code),
            "test_changes": _data(changes.tests),
        }
        if verdict.kind == "pass" and changes.tests:
            why = f"the check passes, but the run changed tests: {_names(changes.tests)}"
            return stale(why, **evidence)
        return msgspec.structs.replace(verdict, evidence=evidence)


def _names(changes: Sequence[FileChange]) -> str:
    return ", ".join(f"{change.path} ({change.kind})" for change in changes)


def _data(changes: Sequence[FileChange]) -> list[dict[str, str]]:
    return [msgspec.to_builtins(change) for change in changes]


def protect(
    tool: Tool, patterns: Sequence[str], *, root: str | Path, argument: str = "path"
) -> Tool:
    """`tool`, denied where its `argument` names a file under `root` that fits one of `patterns`.

    It looks where a path really leads. A tool that runs commands gets round it: a `Baseline` finds
    what was changed by whatever means.
    """

    def denies(arguments: Arguments) -> str | None:
        why = tool.denied(arguments)
        path = relative(root, str(arguments.get(argument, "")))
        if why is None and path is not None and matches(path, patterns):
            why = (
                f"{path} is protected: it is what the work is checked by. Change the code instead."
            )
        return why

    return replace(tool, denies=denies)
