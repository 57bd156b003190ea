"""The bounded tail of a command's output: read to the end, so that a writer never blocks."""

from __future__ import annotations

import os
import selectors
import threading

FINAL_READS = 64
"""Reads of 64 KiB after `close`: what is in the pipe, not what somebody goes on to write."""


class Tail:
    """Keeps the last `limit` bytes written to the descriptor `writer`.

    A thread drains the pipe whatever its size; `close` does not wait for a process that keeps the
    pipe open.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._reader, self.writer = os.pipe()
        self._wake_reader, self._wake = os.pipe()
        self._kept = bytearray()
        self._dropped = 0
        self._thread = threading.Thread(target=self._drain, daemon=True)

    def start(self) -> None:
        """Begin to drain; to be called once the child holds `writer`, which is closed here."""
        os.close(self.writer)
        os.set_blocking(self._reader, False)
        self._thread.start()

    def close(self) -> tuple[bytes, int]:
        """Stop, and return the tail and the number of bytes dropped before it."""
        os.close(self._wake)
        self._thread.join()
        os.close(self._reader)
        os.close(self._wake_reader)
        return bytes(self._kept), self._dropped

    def _drain(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            selector.register(self._wake_reader, selectors.EVENT_READ)
            patience = FINAL_READS
            while patience > 0:
                ready = {key.fd for key, _ in selector.select()}
                if self._reader in ready and not self._read_once():
                    return
                if self._wake_reader in ready:
                    patience = patience - 1 if self._reader in ready else 0

    def _read_once(self) -> bool:
        try:
            chunk = os.read(self._reader, 65536)
        except BlockingIOError:
            return True
        self._kept += chunk
        excess = len(self._kept) - self.limit
        if excess > 0:
            del self._kept[:excess]
            self._dropped += excess
        return bool(chunk)
