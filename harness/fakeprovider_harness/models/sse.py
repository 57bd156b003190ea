"""Server-sent events out of a byte stream, however the bytes were cut.

Follows the WHATWG HTML standard, section 9.2.6 (interpreting an event stream): lines end in CR,
LF or CRLF, a line that begins with a colon is a comment, one leading space of a value is dropped,
several `data` lines are joined with LF. Two deliberate differences, both for what model servers
do: an event whose data is empty is never reported (the standard reports it if a `data` line was
there), and `close` reports an event whose last blank line is missing.
"""

from __future__ import annotations

import msgspec

_BOM = b"\xef\xbb\xbf"


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event: `event` is its type ("" if none was sent), `data` its undecoded payload."""

    data: bytes
    event: str = ""


class SSEParser:
    """Feed bytes in any pieces; every call returns the events that became whole.

    A comment, a `retry`, an `id` and an event without data return nothing, so that a caller who
    counts events as signs of life does not count keep-alives.
    """

    def __init__(self) -> None:
        self._tail: list[bytes] = []
        self._data: list[bytes] = []
        self._event = ""
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the next bytes of the stream and return the events they complete."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if b"\n" not in chunk and b"\r" not in chunk:
            self._tail.append(chunk)
            return []
        return self._take_lines(chunk)

    def close(self) -> list[Event]:
        """The stream has ended: an event whose lines are whole counts, half a line does not."""
        self._tail.clear()
        return self._dispatch()

    def _take_lines(self, chunk: bytes) -> list[Event]:
        block = b"".join(self._tail) + chunk
        self._after_cr = block.endswith(b"\r")
        lines = block.splitlines()
        self._tail = [] if block.endswith((b"\n", b"\r")) else [lines.pop()]
        if self._at_start:
            lines[0] = lines[0].removeprefix(_BOM)
            self._at_start = False
        events: list[Event] = []
        for line in lines:
            if line:
                self._field(line)
            else:
                events += self._dispatch()
        return events

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif name == b"event":
            self._event = value.removeprefix(b" ").decode("utf-8", "replace")

    def _dispatch(self) -> list[Event]:
        data, event = b"\n".join(self._data), self._event
        self._data.clear()
        self._event = ""
        return [Event(data, event)] if data.strip() else []
