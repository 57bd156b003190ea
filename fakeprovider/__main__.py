"""`python -m fakeprovider`: the command line."""

from fakeprovider.entry import main

main()
