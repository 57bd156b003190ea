"""The file of a journal: lines that are appended, flushed at once, and survive a killed server."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import IO

_log = logging.getLogger("fakeprovider")

_BLOCK = 1 << 20  # bytes that are read at once in search of the last line


class JournalFile:
    """A file at its end, and what is written to it.

    One that cannot be written any more is given up, which is logged once: replies go on.
    """

    def __init__(self, path: Path) -> None:
        self._file: IO[bytes] | None = _appendable(path)

    def append(self, line: bytes, number: int) -> None:
        """Write the line of the exchange of this number, and flush it."""
        if self._file is None:
            return
        try:
            self._file.write(line + b"\n")
            self._file.flush()
        except OSError as error:
            _log.error(
                "the journal %s is incomplete from exchange %d on: %s; replies go on",
                self._file.name,
                number,
                error.strerror,
            )
            self.close()

    def close(self) -> None:
        """Close the file; closing it again does nothing."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):  # what it could not write before it cannot write now
                file.close()


def _appendable(path: Path) -> IO[bytes]:
    """The file at its end; half a line that a killed server left there is taken away."""
    file = path.open("ab")
    if file.seekable():  # not a pipe, such as /dev/stderr
        end = file.tell()
        whole = _whole_lines(path, end)
        if whole < end:
            file.truncate(whole)
    return file


def _whole_lines(path: Path, end: int) -> int:
    """Bytes up to the end of the last whole line; `end` is the file's length."""
    with path.open("rb") as file:
        while end:
            start = max(0, end - _BLOCK)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            end = start
    return 0
