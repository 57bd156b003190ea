"""`python -m harness`."""

from harness.commands.cli import main

main()
