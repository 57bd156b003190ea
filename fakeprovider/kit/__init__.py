"""The test kit: the provider as a test holds it."""

from fakeprovider.kit.driving import Drove
from fakeprovider.kit.provider import FakeProvider
from fakeprovider.kit.run import Run

__all__ = ["Drove", "FakeProvider", "Run"]
