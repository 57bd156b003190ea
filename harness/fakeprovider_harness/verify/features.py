"""A feature file as plan and measure: every feature starts as not passing, and only a check of it
makes it pass."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from fakeprovider_harness.verify.verifier import Claim, Verdict, failed, passed


class Feature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the file: its id, what it is and how to see it, and whether its check passes."""

    id: str
    description: str
    steps: tuple[str, ...] = ()
    passes: bool = False


class Features:
    """The feature file `path`: a JSON list of `id`, `description`, `passes`.

    What counts is the copy at `keep`, out of the run's reach and made when first seen: there,
    every feature starts with `passes: false`, and only `verify` flips it. An entry that the run
    removed, added, edited or flipped is a violation: the file is restored and the claim fails.
    `check` judges one feature. Raises `ValueError` for a file that is not such a list.
    """

    def __init__(
        self,
        path: str | Path,
        keep: str | Path,
        check: Callable[[Feature], bool],
    ) -> None:
        self.path, self._keep, self._check = Path(path), Path(keep), check
        if not self._keep.exists():
            _write(self._keep, _fresh(_read(self.path), self.path))

    def all(self) -> list[Feature]:
        """The features, with what the checks have said so far."""
        return _read(self._keep)

    def open(self) -> list[Feature]:
        """Those that do not pass yet, in order: the plan; how many they are is the measure."""
        return [feature for feature in self.all() if not feature.passes]

    def violations(self) -> list[str]:
        """What in the file is not as the checks left it, in words."""
        kept = {feature.id: feature for feature in self.all()}
        try:
            found = {feature.id: feature for feature in _read(self.path)}
        except (OSError, ValueError) as error:
            return [f"{self.path.name} cannot be read: {error}"]
        changed = [id for id in kept if id in found and found[id] != kept[id]]
        return [
            *(f"{id} was removed" for id in kept if id not in found),
            *(f"{id} was added" for id in found if id not in kept),
            *(f"{id} was {_edit(kept[id], found[id])}" for id in changed),
        ]

    def verify(self) -> list[Feature]:
        """Check every feature, flip what passes or does no longer, and return what is open."""
        checked = [
            msgspec.structs.replace(feature, passes=bool(self._check(feature)))
            for feature in self.all()
        ]
        _write(self._keep, checked)
        _write(self.path, checked)
        return [feature for feature in checked if not feature.passes]

    def __call__(self, claim: Claim) -> Verdict:
        violations = self.violations()
        still = self.verify()
        evidence = {"measure": len(still), "violations": violations}
        if violations:
            words = f"only the checks may change {self.path.name}: {'; '.join(violations)}. "
            return failed(f"{words}It was restored.", **evidence)
        if still:
            return failed(f"{len(still)} open, first: {still[0].description}", **evidence)
        return passed(**evidence)


def _edit(kept: Feature, found: Feature) -> str:
    same = msgspec.structs.replace(found, passes=kept.passes) == kept
    return "flipped" if same else "edited"


def _fresh(features: list[Feature], path: Path) -> list[Feature]:
    ids = [feature.id for feature in features]
    if len(ids) != len(set(ids)):
        raise ValueError(f"{path}: two features of one id")
    if any(feature.passes for feature in features):
        raise ValueError(f"{path}: every feature starts with passes: false")
    return features


def _read(path: Path) -> list[Feature]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Feature])
    except msgspec.DecodeError as error:
        raise ValueError(f"{path}: {error}") from error


def _write(path: Path, features: list[Feature]) -> None:
    """Replace the file in one step: a reader sees the old or the new one."""
    text = msgspec.json.format(msgspec.json.encode(features), indent=2)
    half = path.with_name(f".{path.name}.new")
    half.write_bytes(text + b"\n")
    os.replace(half, path)
