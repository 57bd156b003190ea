"""The tools of a person's own runs, on files that no request could carry."""

from __future__ import annotations

from pathlib import Path

from fakeprovider_harness.commands.file_tools import read_file
from fakeprovider_harness.tooling.truncation import KEPT


def test_both_ends_of_a_file_too_long_to_be_sent_are_read_and_no_more(tmp_path: Path) -> None:
    with (tmp_path / "core").open("wb") as file:  # sparse: it has no size on disk
        file.write(b"begin")
        file.seek(3 * KEPT)
        file.write(b"the end")
    text = read_file(tmp_path).fn(path="core")
    assert text.startswith("begin")
    assert text.endswith("the end")
    assert f"\n[{2 * KEPT + 7} bytes left out]\n" in text
    assert len(text) < KEPT + 100


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "dos.txt").write_bytes(b"a\r\nb\r\n\xff")
    assert read_file(tmp_path).fn(path="dos.txt") == "a\r\nb\r\n�"
