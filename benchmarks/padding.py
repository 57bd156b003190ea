"""Text of an exact size in tokens, to make a first prompt as large as a real one."""

from __future__ import annotations

from fakeprovider.tokens import count


def padding(system: str, tokens: int) -> str:
    """Text that makes `system`, put behind it, exactly `tokens` tokens longer.

    Counted as the provider counts, with o200k_base. Raises `ValueError` if no number of filler
    words comes out (none is known).
    """
    if tokens == 0:
        return ""
    want = count(system) + tokens
    for words in range(max(tokens - 8, 0), tokens + 9):
        text = "Context:" + " data" * words + "\n"
        if count(text + system) == want:
            return text
    raise ValueError(f"no padding of exactly {tokens} tokens")
