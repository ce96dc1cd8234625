"""What a tool does to its object, from the verb in its name and from its HTTP method."""

from __future__ import annotations

from executor.catalog.search.query.tokenizer import split, split_spaced, stem

# An action and the verbs that operations use for it. A tool may have several.
ACTIONS: dict[str, str] = {
    "read": "get read retrieve fetch show view describe info lookup find download load open inspect check status "
    "details",
    "list": "list search find query all browse enumerate index watch history",
    "create": "create add new post insert make register generate open start provision upload issue submit init request",
    "update": "update edit modify patch put set change replace rename configure adjust upsert write save resize scale "
    "rotate convert move transfer reset",
    "delete": "delete remove destroy drop purge clear erase uninstall unregister revoke trash detach unassign dismiss "
    "unfollow unstar unpin unsubscribe leave kick withdraw redact",
    "send": "send post notify publish dispatch broadcast message mail deliver share reply forward invite trigger",
    "start": "start run enable activate launch boot resume restart rerun execute trigger deploy unarchive restore "
    "reopen unlock unblock open join begin",
    "stop": "stop cancel disable deactivate pause suspend close end abort terminate kill archive lock block halt "
    "void expire reject decline deny finish snooze",
    "approve": "approve accept confirm merge verify validate finalize capture pay complete submit review sign",
    "attach": "add attach assign link join connect bind associate pin star follow subscribe put invite label tag set",
    "check": "check verify validate test exists is has compare count whether",
}
BITS: dict[str, int] = {name: 1 << at for at, name in enumerate(ACTIONS)}
_BY_WORD: dict[str, int] = {}
for _name, _words in ACTIONS.items():
    for _word in _words.split():
        _BY_WORD[stem(_word)] = _BY_WORD.get(stem(_word), 0) | BITS[_name]
# Verbs that are hardly ever anything else.
CLEAR = frozenset(
    stem(word)
    for word in split_spaced(
        "delete remove destroy create update edit modify retrieve fetch list get send cancel disable enable "
        "approve merge revoke restart reboot resize rename add configure generate upload download invite attach detach "
        "assign unassign publish stop pause resume restore verify validate confirm accept reject decline archive "
        "unarchive close reopen lock unlock block unblock install uninstall evict terminate regenerate void capture "
        "finalize pay search find show change make run start view see check"
    )
)
READS = BITS["read"] | BITS["list"] | BITS["check"]
CHANGES = BITS["update"] | BITS["start"] | BITS["stop"] | BITS["approve"]
_BY_METHOD = {
    "GET": READS,
    "HEAD": BITS["check"] | BITS["read"],
    "OPTIONS": BITS["read"],
    "POST": CHANGES | BITS["create"] | BITS["send"] | BITS["attach"],
    "PUT": CHANGES | BITS["attach"] | BITS["create"],
    "PATCH": CHANGES,
    "DELETE": BITS["delete"] | BITS["stop"],
}


# What may be anything that is posted to a list is no sign that it changes something that is there.
ANY_POST = BITS["send"] | BITS["attach"]


def actions_of(stemmed: str) -> int:
    return _BY_WORD.get(stemmed, 0)


def in_name(name: str) -> int:
    """The actions of the first verb in a name, or of the last when none stands in front."""
    words = [stem(word) for word in split(name)]
    for word in (*words[:2], *words[-1:]):
        if found := _BY_WORD.get(word, 0):
            return found
    return 0


def by_route(route: str) -> int:
    """Reading a thing and reading the list of them differ in where the path ends."""
    method, _, path = route.partition(" ")
    found = _BY_METHOD.get(method.upper(), 0)
    if method.upper() == "GET" and path:
        return BITS["read"] | BITS["check"] if path.rstrip("/").endswith("}") else READS
    if method.upper() in ("POST", "PUT", "PATCH"):
        return by_last(method.upper(), path.rstrip("/").split("/")) or found
    return found


def by_last(method: str, parts: list[str]) -> int:
    """`/payouts/{id}/cancel` cancels; `/payouts` makes one; `/payouts/{id}` changes it."""
    last = parts[-1]
    if last.endswith("}"):
        return BITS["update"] | (BITS["attach"] | BITS["create"] if method == "PUT" else 0)
    said = 0
    for word in split(last):
        said |= _BY_WORD.get(stem(word), 0)
    if said & ~READS:
        return said & ~READS
    return BITS["create"] | BITS["send"] | BITS["attach"] if method == "POST" else 0
