"""The commands of `python -m harness`: a person tries the loops on a real endpoint."""
