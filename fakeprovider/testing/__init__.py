"""The test kit: the provider as a test holds it."""

from fakeprovider.testing.driving import Drove
from fakeprovider.testing.provider import FakeProvider
from fakeprovider.testing.run import Run

__all__ = ["Drove", "FakeProvider", "Run"]
