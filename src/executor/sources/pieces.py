"""Pieces of rows that stand in a file, one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import overload


class OpenFile:
    """A descriptor of its own, closed when nobody needs it any more."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = os.dup(descriptor)

    def __del__(self) -> None:
        os.close(self.descriptor)


class Pieces(Sequence[bytes]):
    """Read when they are asked for, by whichever thread asks: all of them are never in memory together."""

    def __init__(self, file: OpenFile, start: int, sizes: Iterable[int]) -> None:
        self._file = file
        self._sizes = list(sizes)
        self._starts = list(accumulate(self._sizes, initial=start))

    @property
    def end(self) -> int:
        return self._starts[-1]

    def __len__(self) -> int:
        return len(self._sizes)

    @overload
    def __getitem__(self, at: int) -> bytes: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[bytes]: ...

    def __getitem__(self, at: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        return os.pread(self._file.descriptor, self._sizes[at], self._starts[range(len(self))[at]])
