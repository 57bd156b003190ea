"""Context policies: what requests leave out once the history has grown too long."""

from fakeprovider_harness.context.policies import DropResults, Fresh, Notes, Summarise
from fakeprovider_harness.context.policy import ContextPolicy, Moment

__all__ = ["ContextPolicy", "DropResults", "Fresh", "Moment", "Notes", "Summarise"]
