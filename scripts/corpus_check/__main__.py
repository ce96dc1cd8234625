"""`scripts/corpus FOLDER…`: every document of some folders, and what of it can really be called."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from .check import check
from .documents import found_in
from .graphql_schemas import check_schemas, schemas_in
from .list_check import check_lists
from .processes import results_of
from .report import appending, kept, show, summarise
from .result import Result
from .stability import stabilities_of


def main() -> int:
    options = arguments()
    if options.graphql and not options.stability:
        return check_schemas([folder.resolve() for folder in options.folders], options.json, options.names)
    before = kept(options.out) if options.out else {}
    documents = list(chosen(options))
    results = {name: before[name] for _, name in documents if name in before}
    left = [one for one in documents if one[1] not in results or (options.again and not results[one[1]].is_whole)]
    out = appending(options.out) if options.out else None
    for result in checked(left, options):
        results[result.document] = result
        if out is not None:
            print(result.to_json(), file=out, flush=True)
        show(result, options.json, options.names)
    summarise([results[name] for _, name in documents if name in results], options.json)
    return 0 if results else 1


def checked(documents: list[tuple[Path, str]], options: argparse.Namespace) -> Iterator[Result]:
    if options.stability:
        return stabilities_of(documents)
    chosen_check = check_lists if options.lists else check
    return results_of(chosen_check, documents, jobs=options.jobs, seconds=options.seconds)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/corpus", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="folders with OpenAPI documents, or single documents")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, the totals last")
    parser.add_argument("--names", action="store_true", help="name each operation that can't be called")
    parser.add_argument("--lists", action="store_true", help="only the lists that come in pages, and their `.all`")
    parser.add_argument(
        "--graphql", action="store_true", help="GraphQL schemas instead: what calls ask for by themselves"
    )
    parser.add_argument(
        "--stability",
        action="store_true",
        help="only whether separate processes make the same tools of a document; also with --graphql",
    )
    parser.add_argument("--limit", type=int, help="at most this many documents")
    parser.add_argument("--every", type=int, default=1, help="only every n-th document")
    parser.add_argument("--only", action="append", help="only documents whose path fits, as '*stripe*'; repeatable")
    parser.add_argument("--jobs", type=int, default=1, help="how many documents at once")
    parser.add_argument("--seconds", type=float, default=1800, help="give a document up after this long")
    parser.add_argument("--out", type=Path, help="append results to this file; what it has already is not run again")
    parser.add_argument("--again", action="store_true", help="with --out: run again what was not wholly usable")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> Iterator[tuple[Path, str]]:
    """Each with the name it is shown by: its path inside the folder that was given."""
    search = schemas_in if options.graphql else found_in
    found = [
        one for folder in options.folders for one in documents_of(folder.resolve(), len(options.folders) > 1, search)
    ]
    if options.only:
        found = [one for one in found if any(fnmatchcase(one[1], pattern) for pattern in options.only)]
    yield from found[:: options.every][: options.limit]


def documents_of(
    folder: Path, has_others: bool, search: Callable[[Path], Iterable[Path]]
) -> Iterator[tuple[Path, str]]:
    if folder.is_file():
        yield folder, folder.name
        return
    for path in search(folder):
        yield path, str(path.relative_to(folder.parent if has_others else folder))


if __name__ == "__main__":
    sys.exit(main())
