"""`python -m benchmarks` is `bench`."""

from benchmarks.entry import main

main()
