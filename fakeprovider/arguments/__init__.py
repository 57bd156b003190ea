"""The smallest arguments that a tool's JSON Schema admits."""

from fakeprovider.arguments.check import admits, parsed
from fakeprovider.arguments.search import Unsatisfiable, smallest_arguments

__all__ = ["Unsatisfiable", "admits", "parsed", "smallest_arguments"]
