"""The wire protocols, each a module of functions."""

from fakeprovider.protocols.dialect import CREATED, Dialect, Frame

__all__ = ["CREATED", "Dialect", "Frame"]
