"""The commands of `python -m fakeprovider_harness`: a person tries the loops on a real endpoint."""
