"""Other people's harnesses, driven as they are and judged by what the provider saw."""

from fakeprovider_bench.adapters.command import CUT_OFF, Cut, NoRequest, run_command

__all__ = ["CUT_OFF", "Cut", "NoRequest", "run_command"]
