"""The smallest arguments that a tool's JSON Schema admits."""

from fakeprovider.arguments.search import Unsatisfiable, smallest_arguments

__all__ = ["Unsatisfiable", "smallest_arguments"]
