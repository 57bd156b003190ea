"""`python -m harness`; Ctrl-C while the command line loads is an interruption like any other."""

import signal
import sys

try:
    from harness.commands.cli import main
except KeyboardInterrupt:
    sys.exit(128 + signal.SIGINT)

main()
