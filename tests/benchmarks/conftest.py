"""What several tests of the bench begin with."""

from __future__ import annotations

from decimal import Decimal

import pytest

from fakeprovider_bench.options import Options


@pytest.fixture
def options() -> Options:
    """The command line with nothing on it."""
    return Options(
        base_url=None,
        model=None,
        protocol="chat",
        stream=False,
        price_in=Decimal(2),
        price_out=Decimal(12),
        base_tokens=0,
        form="table",
        trace=None,
        fail_over_cost=None,
        fail_over_turns=None,
    )
