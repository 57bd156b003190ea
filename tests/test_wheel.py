"""The wheel in other people's environments: it takes none of their names, and leaves as it came.

What this environment has installed is lent to theirs, so that nothing is downloaded;
tests/slow/test_wheel_foreign.py installs in earnest.
"""

from __future__ import annotations

import venv
import zipfile
from pathlib import Path

import foreign
import pytest
from foreign import Environment

OURS = ["fakeprovider", "fakeprovider_bench", "fakeprovider_harness", "fakeprovider_scenarios"]
OFFLINE = ("--no-deps", "--no-index", "--no-compile")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return foreign.build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has pip, which fills the other environments."""
    folder = tmp_path_factory.mktemp("pip")
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


@pytest.fixture
def environment(tmp_path: Path, pip: Path) -> Environment:
    """An empty environment that is lent the packages of this one."""
    made = Environment.of_pip(tmp_path / "venv", pip, *OFFLINE)
    foreign.borrow_packages(made, tmp_path / "borrowed", without=())
    return made


def test_the_wheel_holds_four_packages_of_our_name_and_no_speed_benchmark(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = sorted({name.partition("/")[0] for name in names})
    assert [top for top in tops if not top.endswith(".dist-info")] == OURS
    assert len(tops) == len(OURS) + 1
    assert [name for name in names if "speed" in name.split("/")] == []
    assert all(f"{package}/py.typed" in names for package in OURS)


def test_the_wheel_brings_three_commands_and_the_pytest_plugin(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (entry_points,) = (name for name in archive.namelist() if name.endswith("/entry_points.txt"))
    lines = archive.read(entry_points).decode().split("\n")
    assert [line for line in lines if line] == [
        "[console_scripts]",
        "bench = fakeprovider_bench.__main__:main",
        "fakeprovider = fakeprovider.__main__:main",
        "fakeprovider-harness = fakeprovider_harness.__main__:main",
        "[pytest11]",
        "fakeprovider = fakeprovider.pytest_plugin",
    ]


def test_a_repository_with_folders_or_packages_of_the_old_names_stays_green(
    environment: Environment, wheel: Path, tmp_path: Path
) -> None:
    """A folder without `__init__.py` loses to any installed package of its name."""
    repositories = [
        foreign.repository(tmp_path / "folders", folders=True),
        foreign.repository(tmp_path / "packages", packages=True),
    ]
    before = foreign.digests(*repositories)
    foreign.check_suite(environment, repositories[0], plugin=False)
    environment.install(wheel)
    foreign.check_commands(environment, repositories[0])
    for repository in repositories:
        foreign.check_suite(environment, repository, plugin=True)
    environment.uninstall("fakeprovider")
    foreign.check_nothing_of_ours(environment)
    foreign.check_suite(environment, repositories[0], plugin=False)
    assert foreign.digests(*repositories) == before


@pytest.mark.parametrize("first", ["theirs", "ours"])
def test_an_installed_distribution_of_the_old_names_outlives_ours(
    environment: Environment, wheel: Path, tmp_path: Path, first: str
) -> None:
    repository = foreign.repository(tmp_path / "repository")
    wheels = {"theirs": foreign.their_wheel(tmp_path), "ours": wheel}
    for owner in sorted(wheels, key=lambda owner: owner != first):
        environment.install(wheels[owner])
        if owner == "theirs":
            theirs = foreign.their_files(environment)
    assert foreign.their_files(environment) == theirs
    foreign.check_bench(environment, repository)
    foreign.check_suite(environment, repository, plugin=True)
    environment.uninstall("fakeprovider")
    foreign.check_nothing_of_ours(environment)
    assert foreign.their_files(environment) == theirs
    foreign.check_suite(environment, repository, plugin=False)


def test_without_pytest_everything_works_but_what_runs_a_suite_and_that_says_what_to_install(
    wheel: Path, pip: Path, tmp_path: Path
) -> None:
    environment = Environment.of_pip(tmp_path / "venv", pip, *OFFLINE)
    foreign.borrow_packages(environment, tmp_path / "borrowed", without=["pytest"])
    environment.install(wheel)
    foreign.check_commands(environment, tmp_path)
    assert "cap 50" in environment.run("bench", "runaway", "--cap", "50", cwd=tmp_path)
    for command in ("done", "stop", "all"):
        with pytest.raises(AssertionError, match=r"needs pytest, .*: pip install pytest"):
            environment.run("bench", command, cwd=tmp_path)
