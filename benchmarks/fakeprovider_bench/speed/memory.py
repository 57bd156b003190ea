"""Whether a server that has answered very many different conversations has grown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from fakeprovider_bench.speed.conversations import unseen
from fakeprovider_bench.speed.load import bear
from fakeprovider_bench.speed.processes import provider

MIB = 1 << 20


@dataclass(frozen=True)
class Sample:
    """Megabytes in use once so many different conversations were answered."""

    conversations: int
    mib: float


def measure(conversations: int = 100_000, samples: int = 10) -> Iterator[Sample]:
    """Samples as they are taken; every conversation has two turns and shares no message."""
    with provider() as server:
        requests = unseen(2)
        bear(server, islice(requests, 100))
        yield Sample(0, server.resident() / MIB)
        done = 0
        for number in range(1, samples + 1):
            step = conversations * number // samples - done
            bear(server, islice(requests, step))
            done += step
            yield Sample(done, server.resident() / MIB)
