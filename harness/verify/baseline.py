"""A project as it was before the run, and what the run has changed: code and tests apart."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from harness.verify.patterns import NOISE, TESTS, matches

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
