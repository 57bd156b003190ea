"""The wire protocols: what a dialect is, and each of them in a place of its own."""

from fakeprovider.protocols.dialect import CREATED, DIALECTS, Dialect, Frame

__all__ = ["CREATED", "DIALECTS", "Dialect", "Frame"]
