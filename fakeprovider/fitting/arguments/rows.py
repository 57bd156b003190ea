"""Choosing from several streams of values, small values first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from typing import TypeAlias

Stream: TypeAlias = Iterator[object]


def key(value: object) -> str:
    """Equal for equal JSON values, and only for those."""
    return json.dumps(value, sort_keys=True)


def smallest_first(streams: Iterable[Stream]) -> Stream:
    """The first value of each stream, null and short ones first; then the others in turn."""
    heads = [(value, stream) for stream in streams for value in islice(stream, 1)]
    heads.sort(key=lambda pair: (pair[0] is not None, len(key(pair[0]))))
    yield from (value for value, _ in heads)
    running = [stream for _, stream in heads]
    while running:
        for stream in tuple(running):
            more = list(islice(stream, 1))
            if not more:
                running.remove(stream)
            yield from more


def rows(columns: Sequence[Stream]) -> Iterator[tuple[object, ...]]:
    """Rows of one value per column: the first of each, then combinations of the first few.

    No row if a column is empty; columns after that one are not looked at.
    """
    first: list[object] = []
    for column in columns:
        head = list(islice(column, 1))
        if not head:
            return
        first += head
    yield tuple(first)
    few = [[head, *islice(column, 2)] for head, column in zip(first, columns, strict=True)]
    yield from islice(product(*few), 1, 64)


def distinct_rows(columns: Sequence[Stream]) -> Iterator[list[object]]:
    """Rows of one value per column, no two of them equal, found by backtracking."""
    kept: list[list[object]] = [[] for _ in columns]
    chosen: list[object] = []
    tried = [0] * len(columns)
    while columns:
        here = len(chosen)
        if here < len(columns) and _reach(columns[here], kept[here], tried[here]):
            value = kept[here][tried[here]]
            tried[here] += 1
            if key(value) not in map(key, chosen):
                chosen.append(value)
            continue
        if here == len(columns):
            yield list(chosen)
        else:
            tried[here] = 0
        if not chosen:
            return
        chosen.pop()


def _reach(column: Stream, kept: list[object], index: int) -> bool:
    kept += islice(column, max(0, index + 1 - len(kept)))
    return index < len(kept)
