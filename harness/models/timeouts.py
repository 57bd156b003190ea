"""How long a request may take, in each of its phases."""

from __future__ import annotations

import msgspec


class Timeouts(msgspec.Struct, frozen=True):
    """Seconds; None is no limit.

    `connect` bounds the TCP and TLS handshakes. `first` and `stall` belong to streams: from sending
    to the first event, and from one event to the next. Comments and other keep-alives are not
    events: they show that a proxy is alive, not that a model is writing. `total` bounds the whole
    request, and is all that bounds a reply sent whole, since nothing is to be seen of it before it
    is finished.
    """

    connect: float | None = 10.0
    first: float | None = 120.0
    stall: float | None = 60.0
    total: float | None = 600.0
