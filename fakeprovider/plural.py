"""A number with its noun."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 request`, `2 requests`; for nouns that take an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
