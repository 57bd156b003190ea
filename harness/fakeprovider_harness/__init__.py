"""The agent loop with every way out of it.

The names stand in `exports`, which is loaded when one is first used: the help of the
command line needs none of them.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fakeprovider_harness.conditions import *  # noqa: F403
    from fakeprovider_harness.exports import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        """A public name, or a module of the package that was not imported yet."""
        if name.isidentifier() and find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        try:
            return getattr(import_module(f"{__name__}.exports"), name)
        except AttributeError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None

    def __dir__() -> list[str]:
        return sorted({*globals(), *import_module(f"{__name__}.exports").__all__})
