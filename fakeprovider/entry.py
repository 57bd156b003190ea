"""Where `fakeprovider` begins: Ctrl-C during the imports is an interruption like any other."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from fakeprovider.cli import main as run  # late, so that the interruption is met here
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    run(prog_name="fakeprovider")
