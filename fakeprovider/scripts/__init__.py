"""Scripts: pure functions from a conversation to the next reply."""

from fakeprovider.scripts.registry import (
    GROUP,
    Registry,
    Script,
    UnknownScript,
    describe,
    discover,
    is_builtin,
)

__all__ = ["GROUP", "Registry", "Script", "UnknownScript", "describe", "discover", "is_builtin"]
