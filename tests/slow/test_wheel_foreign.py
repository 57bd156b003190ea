"""The wheel in other people's environments in earnest: by pip and by uv, from the registry.

tests/test_wheel.py is the quick form.
"""

from __future__ import annotations

import shutil
import venv
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import foreign
import pytest
from foreign import Environment

Make: TypeAlias = Callable[[Path], Environment]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return foreign.build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session", params=["pip", "uv"])
def make(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Makes an empty environment that one of the installers fills."""
    folder = tmp_path_factory.mktemp("installer")
    venv.create(folder, with_pip=True)
    pip = folder / "bin" / "python"
    if request.param == "pip":
        return lambda place: Environment.of_pip(place, pip)
    installer = Environment.of_pip(folder, pip)
    installer.install("uv")
    return lambda place: Environment.of_uv(place, folder / "bin" / "uv")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What a clone has that is installed."""
    place = tmp_path / "clone"
    for folder in ("fakeprovider", "harness", "scenarios", "benchmarks"):
        shutil.copytree(foreign.ROOT / folder, place / folder)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(foreign.ROOT / file, place)
    return place


@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_beside_a_distribution_that_has_the_old_names(
    make: Make, wheel: Path, tmp_path: Path, first: str
) -> None:
    environment = make(tmp_path / "venv")
    repository = foreign.repository(tmp_path / "repository")
    named = {
        "theirs": foreign.their_wheel(tmp_path),
        "ours": f"fakeprovider[pytest] @ {wheel.as_uri()}",
    }
    for owner in sorted(named, key=lambda owner: owner != first):
        environment.install(named[owner])
        if owner == "theirs":
            theirs = foreign.their_files(environment)
    foreign.check_commands(environment, repository)
    foreign.check_suite(environment, repository, plugin=True)
    environment.uninstall("fakeprovider")
    foreign.check_nothing_of_ours(environment)
    assert foreign.their_files(environment) == theirs
    foreign.check_suite(environment, repository, plugin=False)


@pytest.mark.parametrize("editable", [False, True], ids=["wheel", "editable"])
def test_in_repositories_that_have_the_old_names(
    make: Make, wheel: Path, checkout: Path, tmp_path: Path, editable: bool
) -> None:
    environment = make(tmp_path / "venv")
    repositories = [
        foreign.repository(tmp_path / "folders", folders=True),
        foreign.repository(tmp_path / "packages", packages=True),
    ]
    before = foreign.digests(*repositories)
    if editable:
        environment.install("-e", f"{checkout}[pytest]")
    else:
        environment.install(f"fakeprovider[pytest] @ {wheel.as_uri()}")
    for repository in repositories:
        foreign.check_commands(environment, repository)
        foreign.check_suite(environment, repository, plugin=True)
    environment.uninstall("fakeprovider")
    foreign.check_nothing_of_ours(environment)
    for repository in repositories:
        foreign.check_suite(environment, repository, plugin=False)
    assert foreign.digests(*repositories) == before


def test_the_readmes_first_command_needs_no_pytest(
    make: Make, checkout: Path, tmp_path: Path
) -> None:
    environment = make(tmp_path / "venv")
    environment.install("-e", checkout)
    assert not (environment.packages / "pytest").exists()
    assert "cap 50" in environment.run("bench", "runaway", "--cap", "50", cwd=checkout)
