"""`python -m benchmarks` is `bench`."""

from benchmarks.cli import main

main()
