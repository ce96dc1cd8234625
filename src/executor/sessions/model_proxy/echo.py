"""The real key, should a provider echo it: replaced while the answer passes, also where it is cut in two."""

from __future__ import annotations

import re
from collections.abc import Iterable

from executor.secrets.encodings import writings_of
from executor.secrets.redaction import MARK


class EchoFilter:
    """Passes everything else on at once, byte for byte. Only what may be the beginning of a key is held back."""

    def __init__(self, values: Iterable[str]) -> None:
        forms = [form.encode("utf-8", "surrogatepass") for form in writings_of(tuple(values)).exact]
        self._pattern = re.compile(b"|".join(map(re.escape, forms))) if forms else None
        self._beginnings = {form[:length] for form in forms for length in range(1, len(form))}
        self._longest = max(map(len, self._beginnings), default=0)
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        if self._pattern is None:
            return chunk
        data = self._pattern.sub(MARK.encode(), self._held + chunk)
        kept = self._beginning_at_end(data)
        self._held = data[len(data) - kept :]
        return data[: len(data) - kept]

    def finish(self) -> bytes:
        rest, self._held = self._held, b""
        return rest

    def _beginning_at_end(self, data: bytes) -> int:
        lengths = range(min(self._longest, len(data)), 0, -1)
        return next((length for length in lengths if data[-length:] in self._beginnings), 0)
