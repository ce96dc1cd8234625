"""Words that someone probably meant, by how few letters would have to change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

SHORTEST = 4
LONG = 8
MOST = 3


class Spelling:
    def __init__(self, words: Iterable[str]) -> None:
        self._by_start: dict[tuple[str, int], list[str]] = defaultdict(list)
        for word in words:
            if len(word) >= SHORTEST - 1 and "_" not in word and word.isalpha():
                self._by_start[word[0], len(word)].append(word)

    def nearest(self, word: str) -> list[str]:
        """At most three, nearest first; none for words so short that everything is near."""
        if len(word) < SHORTEST or not word.isalpha():
            return []
        most = 2 if len(word) >= LONG else 1
        found: list[tuple[int, str]] = []
        for start in {word[0], word[1]}:
            for length in range(len(word) - most, len(word) + most + 1):
                for other in self._by_start.get((start, length), ()):
                    if (apart := distance(word, other, most)) <= most:
                        found.append((apart, other))
        nearest = min((apart for apart, _ in found), default=0)
        return [other for apart, other in sorted(found) if apart == nearest][:MOST]


def distance(one: str, other: str, most: int) -> int:
    """Letters added, dropped, changed or swapped with their neighbour; more than `most` is not counted out."""
    letters = set(one) ^ set(other)
    if len(letters) > 2 * most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        older, before, row = before, row, [i] + [0] * len(other)
        for j, b in enumerate(other, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                row[j] = min(row[j], older[j - 2] + 1)
        if min(row) > most:
            return most + 1
    return row[-1]
