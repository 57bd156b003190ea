"""The examples that need a framework, run as a user has them: in an environment of their own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FRAMEWORKS = {
    "openai_agents": "openai-agents==0.24.0",
    "pydantic_ai": "pydantic-ai-slim[openai]==2.68.0",
}


@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_example_passes_where_its_framework_is_installed(name: str, tmp_path: Path) -> None:
    python = str(tmp_path / "venv" / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    wanted = [str(ROOT), "pytest", "hypothesis", FRAMEWORKS[name]]
    installed = subprocess.run(
        [python, "-m", "pip", "install", "-q", *wanted],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if installed.returncode:
        pytest.skip(f"cannot be installed here: {installed.stderr.strip()[-300:]}")
    for file in (f"{name}_agent.py", f"test_{name}_agent.py"):
        shutil.copy(ROOT / "examples" / file, tmp_path)
    ran = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"test_{name}_agent.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert "2 passed" in ran.stdout
