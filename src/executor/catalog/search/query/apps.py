"""The names by which people call a source: from its namespace, its title and the host that it is served from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from executor.catalog.search.query.tokenizer import plain, split_spaced
from executor.dataclass import dataclass

# Words around the name of a product, in titles and namespaces.
FILLER = frozenset(
    split_spaced("""
    api apis rest restful http openapi swagger the a an s web cloud platform service services public open connect data
    unified documentation docs doc developer developers management manager server client sdk core beta alpha preview
    version spec specification reference official mcp graphql gateway json and with for of unofficial complete
    1 2 3 4 5 v v1 v2 v3 v4
    """)
)
# Second-level domains under which names are given: `tfl.gov.uk`.
_SHARED = frozenset(split_spaced("co com gov org net ac edu gob"))
_HOSTING = frozenset(
    split_spaced("example localhost local herokuapp cloudfront amazonaws azurewebsites run vercel netlify")
)
_ENDINGS = ("apis", "api", "app", "hq")
_WORD = re.compile(r"[^\W_]+")
LONGEST = 4  # words


@dataclass(frozen=True, slots=True)
class App:
    """What is said of a source beside its namespace."""

    title: str = ""
    host: str = ""


NOTHING = App()


def app_names(namespace: str, app: App = NOTHING) -> set[str]:
    """Each as its words run together, in small letters, as `googlecalendar`."""
    named, titled, provider = split_written(namespace), split_written(app.title), provider_of(app.host)
    telling = [word for word in named if word not in FILLER]
    found = {"".join(named), "".join(telling), "".join(titled), provider, *beginnings(titled)}
    if provider:
        found.add(f"{provider}{''.join(telling)}")
        found.update(word for word in (*named, *titled) if provider.startswith(word) and 2 * len(word) > len(provider))
    return {name for name in found if len(name) > 1}


def split_written(text: str) -> list[str]:
    """Words as they are written: `DocuSign` is one."""
    return _WORD.findall(plain(text).casefold())


def beginnings(words: list[str]) -> Iterator[str]:
    """`Spotify Web API`: Spotify Web. One word alone may be what the source is about, and no name."""
    told = [at for at, word in enumerate(words) if word not in FILLER]
    if len(told) == 1:
        yield words[told[0]]
    for end in range(2, min(LONGEST, len(words)) + 1):
        if end - 1 in told and told[0] == 0:
            yield "".join(words[:end])


def provider_of(host: str) -> str:
    """The part of a host that somebody registered, without what is only technical in it."""
    labels = host.lower().split(".")
    if len(labels) < 2 or labels[-1].isdigit():
        return ""
    at = -3 if labels[-2] in _SHARED and len(labels) > 2 else -2
    name = "".join(split_written(labels[at]))
    if name in _HOSTING or name in FILLER:
        return ""
    for ending in _ENDINGS:
        name = name.removesuffix(ending) if len(name) > len(ending) + 2 else name
    return name


def spoken_names(called: Mapping[str, Iterable[str]]) -> dict[str, tuple[int, ...]]:
    """Numbers of sources by the names they go by. A namespace that is said outright means its source alone."""
    found: dict[str, tuple[int, ...]] = {}
    for number, names in enumerate(called.values()):
        for name in names:
            found[name] = (*found.get(name, ()), number)
    return found | {"".join(split_written(namespace)): (number,) for number, namespace in enumerate(called)}
