"""A server for small harnesses, good and bad."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from small_harness import Bench

from fakeprovider.server import Server


@pytest.fixture(scope="module")
def bench(request: pytest.FixtureRequest, http: httpx.Client) -> Iterator[Bench]:
    """For the module's own `SCRIPTS`, served leniently: what is broken is journaled."""
    scripts = getattr(request.module, "SCRIPTS", {})
    with Server("plan", scripts=scripts, strict=False) as server:
        yield Bench(server, http)
