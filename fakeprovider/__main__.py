"""`python -m fakeprovider`: the command line."""

from fakeprovider.cli import main

main(prog_name="fakeprovider")
