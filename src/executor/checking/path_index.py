"""The paths of a catalog, asked by the words of a piece of code."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping

MAX_NAMED = 300
MAX_NEIGHBOURS = 10
MAX_BELOW = 5_000


class Names:
    """Sorted paths with the effects of their tools, and which of them end with a word."""

    def __init__(self, effects: Mapping[str, str]) -> None:
        self.effects = effects
        self.paths = sorted(effects)
        self._by_last: dict[str, list[int]] = defaultdict(list)
        self._namespaces = {path.partition(".")[0] for path in self.paths}
        for number, path in enumerate(self.paths):
            self._by_last[path.rpartition(".")[2]].append(number)

    def match(self, words: set[str]) -> list[str]:
        """The tools that the code may mean: every segment of their path is a word of it. Aliases change nothing."""
        found: list[str] = []
        for word in sorted(words):
            for number in self._by_last.get(word, ()):
                if words.issuperset(self.paths[number].split(".")):
                    found.append(self.paths[number])
        for namespace in words & self._namespaces - {path.partition(".")[0] for path in found}:
            found += self._neighbours(namespace, words)
        return sorted(found)[:MAX_NAMED]

    def _neighbours(self, namespace: str, words: set[str]) -> list[str]:
        """For a source of which no tool is named: some tools of the named groups, to say what is missing."""
        at = bisect_left(self.paths, f"{namespace}.")
        found: list[str] = []
        while at < len(self.paths) and self.paths[at].startswith(f"{namespace}.") and len(found) < MAX_NEIGHBOURS:
            if words.issuperset(self.paths[at].split(".")[:-1]):
                found.append(self.paths[at])
            at += 1
        return found

    def is_tool(self, path: str) -> bool:
        at = bisect_left(self.paths, path)
        return at < len(self.paths) and self.paths[at] == path

    def is_group(self, path: str) -> bool:
        """Whether tools lie below it."""
        if not path:
            return bool(self.paths)
        at = bisect_left(self.paths, f"{path}.")
        return at < len(self.paths) and self.paths[at].startswith(f"{path}.")

    def below(self, group: str) -> Iterator[str]:
        """The next segments below a group, each once; whole subtrees are jumped over."""
        start = f"{group}." if group else ""
        at = bisect_left(self.paths, start)
        for _ in range(MAX_BELOW):
            if at >= len(self.paths) or not self.paths[at].startswith(start):
                return
            segment = self.paths[at][len(start) :].partition(".")[0]
            yield segment
            at = bisect_right(self.paths, f"{start}{segment}.\x7f", at)

    def known_length(self, segments: tuple[str, ...]) -> int:
        """How many of the segments lead somewhere."""
        for length in range(1, len(segments) + 1):
            path = ".".join(segments[:length])
            if not self.is_tool(path) and not self.is_group(path):
                return length - 1
        return len(segments)
