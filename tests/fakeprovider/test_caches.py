"""Caches counted in bytes."""

from __future__ import annotations

import tracemalloc

from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider import tokens
from fakeprovider.parsing.caches import ByteBoundedCache, RequestCaches
from fakeprovider.protocols.chat.dialect import CHAT


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 600)), max_size=40))
@settings(max_examples=100)
def test_it_never_holds_more_than_its_limit(puts: list[tuple[int, int]]) -> None:
    """And what it has is what was last put, the oldest use gone first."""
    cache: ByteBoundedCache[int, int] = ByteBoundedCache(1000)
    for key, cost in puts:
        cache.put(key, cost, cost)
        assert cache.used <= 1000
        assert cache.get(key) == (cost if cost <= 880 else None)
    for key, _ in puts:
        cache.drop(key)
    assert (cache.used, len(cache)) == (0, 0)


def test_what_was_used_last_stays() -> None:
    """A look-up counts as use."""
    cache: ByteBoundedCache[str, int] = ByteBoundedCache(3 * 220)
    for key in "abc":
        cache.put(key, 1, 100)
    assert cache.get("a") == 1
    cache.put("d", 1, 100)
    assert [cache.get(key) for key in "abcd"] == [1, None, 1, 1]


def test_the_cost_of_what_is_remembered_is_honest() -> None:
    """Python's own count of the memory held is no more than what the caches say they hold."""
    text = "some words that differ: %d, and rather more of them so that it is a message"
    bodies = [
        b'{"model":"m","messages":[{"role":"user","content":"%b"}]}' % (text % index).encode()
        for index in range(3000)
    ]
    tokens.encoding()  # loaded now, so that it does not count
    caches = RequestCaches()
    CHAT.parse(bodies[0], caches)
    tracemalloc.start()
    for body in bodies:
        CHAT.parse(body, caches)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held <= caches.entries.used + caches.prefixes.used + caches.tools.used
