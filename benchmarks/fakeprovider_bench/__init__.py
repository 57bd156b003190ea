"""The command `bench`: a harness driven through scenarios, a row per stop policy."""
