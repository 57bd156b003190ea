"""Context policies: what requests leave out once the history has grown too long."""

from harness.context.drop import DropResults, Notes
from harness.context.fresh import Fresh
from harness.context.policy import ContextPolicy, Moment
from harness.context.summarise import Summarise

__all__ = ["ContextPolicy", "DropResults", "Fresh", "Moment", "Notes", "Summarise"]
