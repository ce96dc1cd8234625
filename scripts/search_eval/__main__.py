"""`scripts/eval-search`: how often discovery puts the right tool first, beside plain FTS5 on the same sets."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from executor.catalog.search.index.index import Index
from executor.catalog.search.index.segment import build_segment
from executor.catalog.search.index.workspace_index import nearness_by
from executor.catalog.search.query.apps import App
from executor.catalog.search.ranking import search
from executor.catalog.search.semantic.encoder import pack_vectors, text_of
from executor.catalog.search.semantic.vectors import BATCH, Encodes, find_encoder
from search_eval.baseline import Fts5
from search_eval.sets import Query, QuerySet, blind_sets, entry, lines, sets_in, trade_sets

DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "eval"
DEPTH = 10


@dataclass(frozen=True, slots=True)
class Figures:
    """Percentages, and milliseconds of CPU a query."""

    first: float
    five: float
    ndcg: float
    milliseconds: float


class Discovery:
    """The product's own index, one segment a source."""

    def __init__(
        self, tools: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]] = (), encoder: Encodes | None = None
    ) -> None:
        sources: dict[str, list[tuple[str, Any]]] = {}
        for tool in [*tools, *others]:
            one = entry(tool)
            sources.setdefault(one.path.partition(".")[0], []).append((tool["id"], one))
        self._ids: dict[str, list[str]] = {}
        for found in sources.values():
            for tool_id, one in found:
                self._ids.setdefault(one.path, []).append(tool_id)
        apps = {tool["source"]: App(tool["title"], tool["host"]) for tool in tools if "title" in tool}
        self._index = Index([build_segment(one for _, one in found) for found in sources.values()], apps)

        self._near = None
        if encoder is not None:
            entries = [one for found in sources.values() for _, one in found]
            texts = [text_of(one) for one in entries]
            parts = [pack_vectors(encoder.encode(texts[at : at + BATCH])) for at in range(0, len(texts), BATCH)]
            self._near = nearness_by(encoder, parts)

    def search(self, query: str, limit: int = DEPTH) -> list[str]:
        """Tools that would have the same path share it here, in the order in which they were given."""
        found = search(self._index, query, limit=limit, near=self._near)
        ids = [tool_id for path in dict.fromkeys(hit.path for hit in found.hits) for tool_id in self._ids[path]]
        return list(dict.fromkeys(ids))[:limit]  # a tool and the one that fetches all its pages are one


def figures(queries: Sequence[Query], find: Callable[[str], list[str]], *, any_one: bool) -> Figures:
    totals = [0.0, 0.0, 0.0]
    started = time.process_time()
    for query in queries:
        hits = [one in query.relevant for one in find(query.text)[:DEPTH]]
        totals[0] += any(hits[:1])
        totals[1] += any(hits[:5])
        totals[2] += gain(hits, 1 if any_one else len(query.relevant), any_one)
    spent = 1_000 * (time.process_time() - started)
    amount = len(queries) or 1
    return Figures(*(100 * total / amount for total in totals), spent / amount)


def gain(hits: Sequence[bool], relevant: int, any_one: bool) -> float:
    """nDCG; when any one tool is right, only the first that is found counts."""
    places = [at for at, hit in enumerate(hits) if hit]
    if any_one:
        places = places[:1]
    ideal = sum(1 / math.log2(at + 2) for at in range(min(relevant, DEPTH)))
    return sum(1 / math.log2(at + 2) for at in places) / (ideal or 1.0)


class Engines:
    """The product's search and plain FTS5, made once a file of tools."""

    def __init__(self, more: Sequence[dict[str, Any]], encoder: Encodes | None) -> None:
        self._more, self._encoder = more, encoder
        self._made: dict[tuple[Path, bool], tuple[Discovery, Fts5]] = {}

    def over(self, tools: Path, *, with_more: bool) -> tuple[Discovery, Fts5]:
        if (tools, with_more) not in self._made:
            found = lines(tools)
            self._made[tools, with_more] = self._discovery(found, with_more), Fts5(found)
        return self._made[tools, with_more]

    def _discovery(self, found: Sequence[dict[str, Any]], with_more: bool) -> Discovery:
        return Discovery(found, self._more if with_more else (), self._encoder)


def measured(found: QuerySet, engines: Engines) -> dict[str, Any]:
    discovery, fts5 = engines.over(found.tools, with_more=found.any_one)
    ours = figures(found.queries, discovery.search, any_one=found.any_one)
    plain = figures(found.queries, fts5.search, any_one=found.any_one)
    return {"set": found.name, "queries": len(found.queries), "discovery": shown(ours), "fts5": shown(plain)}


def shown(one: Figures) -> dict[str, float]:
    return {
        "hit@1": round(one.first, 1),
        "hit@5": round(one.five, 1),
        "ndcg@10": round(one.ndcg, 1),
        "cpu_ms": round(one.milliseconds, 2),
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    text = [
        f"{'set':<20}{'queries':>8}{'hit@1':>8}{'hit@5':>8}{'nDCG@10':>9}{'CPU ms':>8}   FTS5: hit@1  hit@5  nDCG@10"
    ]
    for row in rows:
        ours, plain = row["discovery"], row["fts5"]
        numbers = f"{ours['hit@1']:>8}{ours['hit@5']:>8}{ours['ndcg@10']:>9}{ours['cpu_ms']:>8}"
        text.append(
            f"{row['set']:<20}{row['queries']:>8}{numbers}{plain['hit@1']:>14}{plain['hit@5']:>7}{plain['ndcg@10']:>9}"
        )
    return "\n".join(text)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/eval-search", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT, help="the sets: NAME.jsonl, NAME_tools.jsonl")
    parser.add_argument("--only", action="append", help="only this set; may be repeated")
    parser.add_argument("--more", type=Path, help="JSON lines of other tools, connected beside the shared ones")
    parser.add_argument("--trades", type=Path, help="what `python -m search_eval.trades` wrote: other trades too")
    parser.add_argument("--blind2", type=Path, help="the same for the set `blind2`")
    parser.add_argument("--semantic", action="store_true", help="with the extra, which has to be installed")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if not options.folder.is_dir():
        raise SystemExit(f"there is no folder {options.folder}; give that of the sets")
    more = lines(options.more) if options.more else []
    found = sets_in(options.folder)
    if options.trades:
        found += trade_sets(options.trades)
    if options.blind2:
        found += blind_sets(options.blind2)
    encoder = find_encoder() if options.semantic else None
    if options.semantic and encoder is None:
        raise SystemExit("the extra `semantic` is not installed")
    engines = Engines(more, encoder)
    rows = [measured(one, engines) for one in found if not options.only or one.name in options.only]
    print(json.dumps(rows, indent=2) if options.json else table(rows))


if __name__ == "__main__":
    main()
