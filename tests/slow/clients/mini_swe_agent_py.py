"""mini-swe-agent: every reply must run a command, the last one echoes its submission."""

import os
import subprocess
import sys
from pathlib import Path

import tools

done = subprocess.run(
    [
        str(Path(sys.executable).parent / "mini"),
        *("-m", "openai/gpt-4.1", "-t", tools.TASK, "--yolo", "--exit-immediately"),
    ],
    env={
        **os.environ,
        "COLUMNS": "200",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "OPENAI_API_BASE": os.environ["OPENAI_BASE_URL"],
    },
    stdin=subprocess.DEVNULL,
    check=False,
)
sys.exit(done.returncode)
