"""The tools of a request, parsed and counted once for each form in which a client sends them."""

from __future__ import annotations

from collections.abc import Callable

from fakeprovider.conversation import Offered
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.parsing.counting import tools_count


def read_tools(
    dialect: str,
    raw: bytes,
    caches: RequestCaches,
    parse: Callable[[bytes], tuple[Offered, ...]],
) -> tuple[tuple[Offered, ...], int]:
    """The tools in `raw` JSON, and their tokens; none for `null`."""
    if raw == b"null":
        return (), 0
    found = caches.tools.get((dialect, raw))
    if found is None:
        offered = parse(raw)
        found = (offered, tools_count(offered))
        # Parsed JSON takes several times its text.
        caches.tools.put((dialect, raw), found, 8 * len(raw) + 1000)
    return found
