"""Names of groups inside each other: as short as they can be without being the name of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

Chain = tuple[str, ...]


def shortest_names(chains: Iterable[Chain]) -> dict[Chain, str]:
    """`keys` of `projects serviceAccounts keys`, unless there is another `keys`."""
    distinct = set(chains)
    counts = Counter(name for chain in distinct for name in suffixes(chain))
    return {chain: next((name for name in suffixes(chain) if counts[name] == 1), " ".join(chain)) for chain in distinct}


def suffixes(chain: Chain) -> Iterator[str]:
    """From the innermost name alone to all of them."""
    return (" ".join(chain[start:]) for start in range(len(chain) - 1, -1, -1))
