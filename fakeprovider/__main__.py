"""`python -m fakeprovider`: the command line."""

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


if __name__ == "__main__":
    main()
