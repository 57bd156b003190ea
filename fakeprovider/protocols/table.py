"""All dialects there are, and which of them answers a path."""

from __future__ import annotations

from fakeprovider.protocols import chat
from fakeprovider.protocols.base import Dialect

DIALECTS: tuple[Dialect, ...] = (chat,)

BY_PATH: dict[str, Dialect] = {path: dialect for dialect in DIALECTS for path in dialect.PATHS}
