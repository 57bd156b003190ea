"""Both registries: the provider's, and its twin in the harness, which imports nothing of ours."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

import fakeprovider.registry
import fakeprovider_harness.registry

MEMBERS = {
    "first_members": "from registry_owner import NAMES\nNAMES.add('b', 1)\nNAMES.add('a', 2)\n",
    "second_members": "from registry_owner import NAMES\nNAMES.add('c', 3)\n",
}


@pytest.fixture(params=[fakeprovider.registry, fakeprovider_harness.registry], ids=["ours", "twin"])
def owner(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> fakeprovider.registry.Registry[int]:
    """A registry of two modules, in the first of which the names are not in alphabetical order."""
    for name, text in MEMBERS.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "registry_owner.py").write_text(
        f"from {request.param.__name__} import Registry\nNAMES = Registry('number', {[*MEMBERS]})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("registry_owner", *MEMBERS):
        monkeypatch.delitem(sys.modules, name, raising=False)
    names: fakeprovider.registry.Registry[int] = import_module("registry_owner").NAMES
    return names


def test_members_stand_in_the_order_of_their_modules_and_lines(
    owner: fakeprovider.registry.Registry[int],
) -> None:
    assert "first_members" not in sys.modules
    import_module("second_members")  # earlier than its turn
    assert list(owner.items()) == [("b", 1), ("a", 2), ("c", 3)]


def test_a_name_is_taken_once_and_an_unknown_one_is_told_what_is_near(
    owner: fakeprovider.registry.Registry[int],
) -> None:
    assert len(owner) == 3
    with pytest.raises(ValueError, match="two members of the kind number named 'a'"):
        owner.add("a", 4)
    owner.add("thirteen", 13)
    assert list(owner)[-1] == "thirteen"
    assert owner.unknown("thirten") == "no number named 'thirten'; did you mean thirteen?"
    assert owner.unknown("zzz") == "no number named 'zzz'; there are b, a, c, thirteen"
    assert owner.remove("thirteen") == 13
    assert "thirteen" not in owner


def test_the_twins_are_the_same_but_for_their_example() -> None:
    ours, theirs = (
        Path(module.__file__ or "").read_text().replace("stop condition", "fault")
        for module in (fakeprovider.registry, fakeprovider_harness.registry)
    )
    assert "".join(ours.split()) == "".join(theirs.split())
