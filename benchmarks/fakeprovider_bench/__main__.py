"""`python -m fakeprovider_bench` is `bench`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Load the command line and run it."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        from fakeprovider_bench.cli import main as run
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    if sys.stdout is None:
        sys.exit("Error: standard output is closed; there is nowhere to print to")
    run()


if __name__ == "__main__":
    main()
