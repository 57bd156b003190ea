"""The lowest versions that pyproject.toml admits, with pytest and no other extra: does it work?

Each `name>=X` becomes the newest `X.*` in an environment of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
BOUND = re.compile(r"([A-Za-z0-9_.-]+)>=([0-9.]+)")
TEST = """\
from fakeprovider import ask
import httpx

def test_it(fake_provider):
    with fake_provider.run([ask("list_files")]) as run:
        body = {"model": "x", "messages": [{"role": "user", "content": "Go."}],
                "tools": [{"type": "function", "function": {"name": "list_files"}}]}
        httpx.post(f"{run.base_url}/chat/completions", json=body).raise_for_status()
    run.assert_called("list_files", times=1)
"""


def lowest() -> list[str]:
    """The constraints."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["pytest"]]
    bounds = filter(None, map(BOUND.match, wanted))
    return [f"{bound[1]}=={bound[2]}.*" for bound in bounds]


def commands(bin_: Path, test: Path) -> list[list[str]]:
    """What a user runs, each to end with status 0."""
    agent = [
        str(bin_ / "python"),
        "-P",
        "-m",
        "fakeprovider_harness",
        "run",
        "Which file?",
        "--quiet",
    ]
    return [
        [str(bin_ / "bench"), "all", "--json"],
        [str(bin_ / "fakeprovider"), "exec", "--script", "plan", "--no-violations", "--", *agent],
        [str(bin_ / "pytest"), "-q", str(test)],
    ]


def main() -> int:
    """The number of commands that failed."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        venv.create(place / "venv", with_pip=True)
        bin_ = place / "venv" / "bin"
        constraints, test = place / "lowest.txt", place / "test_it.py"
        constraints.write_text("\n".join(lowest()))
        test.write_text(TEST)
        install = [str(bin_ / "pip"), "install", "-q", "-c", str(constraints), f"{ROOT}[pytest]"]
        if subprocess.run(install, check=False).returncode != 0:
            print("lowest versions: CANNOT BE INSTALLED here")
            return 0
        return sum(not works(command, place) for command in commands(bin_, test))


def works(command: list[str], place: Path) -> bool:
    """Whether it ends well; what it printed is shown where not."""
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    words = " ".join([Path(command[0]).name, *command[1:3]])
    print(f"lowest versions: {words}: {'ok' if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode != 0:
        print(done.stdout[-2000:], done.stderr[-2000:], sep="\n")
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
