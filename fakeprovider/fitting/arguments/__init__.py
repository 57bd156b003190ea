"""The smallest arguments that a tool's JSON Schema admits."""

from fakeprovider.fitting.arguments.check import admits, parsed
from fakeprovider.fitting.arguments.search import Unsatisfiable, smallest_arguments

__all__ = ["Unsatisfiable", "admits", "parsed", "smallest_arguments"]
