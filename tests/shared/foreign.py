"""Other people's projects, which have names of their own, and our wheel in their environments."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMES = ("benchmarks", "harness", "scenarios")
"""Names that projects have themselves: our folders at the top are called so, no package is."""

SUITE = """\
import benchmarks.own, harness.own, scenarios.own

def test_theirs():
    assert {benchmarks.own.OWNER, harness.own.OWNER, scenarios.own.OWNER} == {"theirs"}
"""

PLUGIN_SUITE = """\
import httpx
from fakeprovider import ask

def test_with_the_plugin(fake_provider):
    with fake_provider.run([ask("list_files")]) as run:
        body = {"model": "x", "messages": [{"role": "user", "content": "Go."}],
                "tools": [{"type": "function", "function": {"name": "list_files"}}]}
        httpx.post(f"{run.base_url}/chat/completions", json=body).raise_for_status()
    run.assert_called("list_files", times=1)
"""


def build_wheel(folder: Path) -> Path:
    """Our wheel, built from this checkout with the hatchling of this environment."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    return wheel


def their_wheel(folder: Path) -> Path:
    """A distribution `harness` that installs packages of all three names."""
    wheel = folder / "harness-1.0-py3-none-any.whl"
    files = {f"{name}/__init__.py": "" for name in NAMES}
    files |= {f"{name}/own.py": 'OWNER = "theirs"\n' for name in NAMES}
    info = "harness-1.0.dist-info"
    files[f"{info}/METADATA"] = "Metadata-Version: 2.1\nName: harness\nVersion: 1.0\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel


def repository(folder: Path, *, folders: bool = False, packages: bool = False) -> Path:
    """A project with a suite of its own; the names are its folders, its packages, or neither."""
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "test_theirs.py").write_text(SUITE)
    for name in NAMES if folders or packages else ():
        (folder / name).mkdir()
        (folder / name / "own.py").write_text('OWNER = "theirs"\n')
        if packages:
            (folder / name / "__init__.py").write_text("")
    return folder


def their_files(environment: Environment) -> dict[Path, str]:
    """What stands in the packages of the distribution that has those names."""
    places = (*NAMES, "harness-1.0.dist-info")
    return digests(*(environment.packages / place for place in places))


def digests(*folders: Path) -> dict[Path, str]:
    """What stands in these folders; what Python compiles is left out."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.suffix != ".pyc"
    }


@dataclass(frozen=True)
class Environment:
    """A virtual environment, and the words that install into it and uninstall."""

    folder: Path
    install_words: Sequence[str]
    uninstall_words: Sequence[str]

    @classmethod
    def of_pip(cls, folder: Path, pip: Path, *options: str) -> Environment:
        """An environment that the pip of another environment fills."""
        venv.create(folder)
        words = [str(pip), "-m", "pip", "--python", str(folder / "bin" / "python"), "-q"]
        return cls(folder, [*words, "install", *options], [*words, "uninstall", "-y"])

    @classmethod
    def of_uv(cls, folder: Path, uv: Path) -> Environment:
        """An environment that uv makes and fills."""
        subprocess.run([str(uv), "venv", "-q", "-p", sys.executable, str(folder)], check=True)
        words, python = [str(uv), "pip"], ["-q", "--python", str(folder / "bin" / "python")]
        return cls(folder, [*words, "install", *python], [*words, "uninstall", *python])

    @property
    def packages(self) -> Path:
        """Where packages are installed."""
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    def install(self, *what: str | Path) -> None:
        """Install these; a failure shows what the installer said."""
        self._run([*self.install_words, *map(str, what)], self.folder)

    def uninstall(self, name: str) -> None:
        """Remove one distribution."""
        self._run([*self.uninstall_words, name], self.folder)

    def run(self, command: str, *arguments: str, cwd: Path, **variables: str) -> str:
        """What a command of this environment prints; it has to end with status 0."""
        return self._run([str(self.folder / "bin" / command), *arguments], cwd, **variables)

    def _run(self, words: Sequence[str], cwd: Path, **variables: str) -> str:
        environment = {name: os.environ[name] for name in os.environ if name != "PYTHONPATH"}
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", **variables}
        done = subprocess.run(
            words,
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout


def borrow_packages(environment: Environment, folder: Path, *, without: Collection[str]) -> None:
    """Let an environment see every distribution of this one but those named: no network needed."""
    folder.mkdir()
    for name, path in _installed():
        if name not in {"fakeprovider", *without} and not (folder / path.name).exists():
            (folder / path.name).symlink_to(path)
    (environment.packages / "borrowed.pth").write_text(f"{folder}\n")


def _installed() -> Iterator[tuple[str, Path]]:
    """Each distribution of this environment with what it has on the top level of its place."""
    for distribution in distributions():
        tops = {file.parts[0] for file in distribution.files or ()}
        for top in sorted(tops - {"..", "__pycache__"}):
            if not top.endswith(".pth"):
                path = Path(str(distribution.locate_file(top)))
                yield distribution.name.lower().replace("_", "-"), path.resolve()


def check_commands(environment: Environment, repository: Path) -> None:
    """Every command of ours answers, in a repository that is none of ours."""
    assert "Usage:" in environment.run("fakeprovider", "--help", cwd=repository)
    assert "Usage:" in environment.run("fakeprovider-harness", "--help", cwd=repository)
    module = environment.run("python", "-m", "fakeprovider_harness", "--help", cwd=repository)
    assert "Usage:" in module
    check_bench(environment, repository)


def check_bench(environment: Environment, repository: Path) -> None:
    """The bench runs where the names of the repository come first."""
    printed = environment.run("bench", "plan", "--json", cwd=repository, PYTHONPATH=".")
    assert json.loads(printed)["rows"]


def check_suite(environment: Environment, repository: Path, *, plugin: bool) -> None:
    """Their suite is green; with `plugin` a test of theirs uses our fixture too."""
    ours = repository / "tests" / "test_with_plugin.py"
    if plugin:
        ours.write_text(PLUGIN_SUITE)
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
    printed = environment.run("python", *words, cwd=repository)
    assert f"{1 + plugin} passed" in printed
    ours.unlink(missing_ok=True)


def check_nothing_of_ours(environment: Environment) -> None:
    """No file and no command of ours is left."""
    left = [*environment.packages.glob("*fakeprovider*"), *environment.folder.glob("bin/*fake*")]
    assert [*left, *environment.folder.glob("bin/bench")] == []
