"""`python -m fakeprovider_harness`, also installed as `fakeprovider-harness`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from fakeprovider_harness.commands.cli import main as run  # late: Ctrl-C is met here
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    run()


if __name__ == "__main__":
    main()
