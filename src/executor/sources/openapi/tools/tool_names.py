"""Names of tools: readable, unique, and the same for the same document. Nothing a document says gets through raw."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from operator import eq

from executor.dataclass import dataclass
from executor.model.tool import ALL
from executor.sources.tool_names import MAX_LENGTH, TAKEN, identifier, to_ascii, unique, words

LENGTH = 60  # of a whole path, where that can be had
SHORTEST = 16  # of its last part: below that it says too little
LONGEST = 56  # of its last part, also where the path is longer for that
MANY = 5
MOST_FORMS = 9
_KEPT = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,80}\.[A-Za-z][A-Za-z0-9_]{0,80}\Z")
_VERSION = re.compile(
    r"(?:(?<=[a-z0-9])V|(?<![A-Za-z])[vV])\d+(?:[._]\d+)*(?:(?:alpha|beta|rc)\d*)?(?![a-z0-9])|20\d\d-?[01]\d-?[0-3]\d"
    r"|\A/?\d+(?:\.\d+)*(?=[/ ])"
)
_PLAIN_PART = re.compile(r"(?i)api|rest|alpha|beta|v?\d+([._]\d+)*((alpha|beta)\d*)?")
_VERB_AND_PATH = re.compile(r"(?i)(get|put|post|delete|options|head|patch|trace)[-_ ]?(/\S*?)(?:_([A-Za-z]\w*))?\Z")
_FIRST = re.compile(r"([A-Za-z0-9]+)[./_-](?=[A-Za-z])")
EMPTY_TAGS = frozenset({"default", "api", "apis", "rest", "untagged", "misc", "general", "public"})
CLASSES = frozenset({"controller", "service", "resource", "endpoint", "handler", "api", "operations"})
JOINTS = frozenset({"by", "for", "from", "of", "with", "in", "on", "and", "or", "to", "as", "at"})
VERBS = frozenset({"get", "list", "create", "update", "delete", "post", "put", "patch", "add", "remove", "set", "find"})


@dataclass(frozen=True, slots=True)
class NameParts:
    """The parts from which the name of an operation is built."""

    method: str
    path: str
    tags: tuple[str, ...] = ()
    operation_id: str = ""

    @property
    def key(self) -> str:
        return f"{self.method.upper()} {self.path}"


def names_of(operations: Sequence[NameParts], namespace: str, held: Mapping[str, str]) -> list[str]:
    """`group.name` of each. Those that are `held` already, by `METHOD /path`, stay.

    Of names that clash none stays: all say more of themselves, step by step, and only what is still the same after
    that gets a suffix.
    """
    groups = group_names(operations, namespace)
    prefix = common_prefix(operations)
    forms = [
        Forms(candidates(one, group, namespace, prefix) if one.key not in held else iter([held[one.key]]))
        for one, group in zip(operations, groups, strict=True)
    ]
    chosen = [each.at(0) or "" for each in forms]
    for level in range(1, MOST_FORMS):
        counts = Counter(name.lower() for name in chosen)
        if len(counts) == len(chosen):
            break
        for number, each in enumerate(forms):
            if counts[chosen[number].lower()] > 1:
                chosen[number] = each.at(level) or chosen[number]
    return unique([(name, one.key) for name, one in zip(chosen, operations, strict=True)], held)


class Forms:
    """Forms of one name, each made when it is wanted: few names clash."""

    def __init__(self, forms: Iterator[str]) -> None:
        self._coming = forms
        self._made: list[str] = []

    def at(self, level: int) -> str | None:
        self._made += islice(self._coming, level + 1 - len(self._made))
        return self._made[level] if level < len(self._made) else None


def group_names(operations: Sequence[NameParts], namespace: str) -> list[str]:
    """Versions are left out of tags, unless only they distinguish them. A tag that all operations share says
    nothing if it is the name of the whole."""
    tags = Counter(one.tags[0] for one in operations if one.tags)
    short = {tag: tag_group(tag, namespace) for tag in tags}
    counts = Counter(name.lower() for name in short.values() if name)
    groups = {
        tag: identifier(tag, "group") if name and counts[name.lower()] > 1 else name for tag, name in short.items()
    }
    whole, many = namespace.replace("_", ""), max(MANY, len(operations) // 2)
    empty = {tag for tag, amount in tags.items() if groups[tag].lower() == whole and amount >= many}
    return [
        (groups[one.tags[0]] if one.tags and one.tags[0] not in empty else "") or path_group(one.path, namespace)
        for one in operations
    ]


def tag_group(tag: str, namespace: str) -> str:
    """Empty if the tag says nothing."""
    text, all_words = tag.strip(), words(to_ascii(tag)[0])
    plain = [word.lower() for word in all_words]
    if not text or (plain and set(plain) <= EMPTY_TAGS):
        return ""
    bare = re.sub(r"(?<=[a-z0-9]) ?APIs?\s*\Z|\A[Aa]pi\s+(?=[A-Z]\w)", "", _VERSION.sub(" ", text))
    own, spaces = words(to_ascii(bare)[0]), namespace.split("_")
    while len(own) > 1 and own[0].lower() in spaces:
        own = own[1:]
    if not own and all_words:
        return ""
    return identifier(text if own == all_words else " ".join(own), "group")


def path_group(path: str, namespace: str = "") -> str:
    fixed = fixed_parts(path)
    telling = [part for part in fixed if not _PLAIN_PART.fullmatch(part)]
    telling = [part for part in telling if part.lower() != namespace] or telling
    return identifier((telling or ["default"])[0], "group")


def fixed_parts(path: str) -> list[str]:
    parts = (re.sub(r"\{[^{}]*\}", " ", part).strip(" :.-") for part in path.partition("?")[0].split("/"))
    return [part for part in parts if part]


def common_prefix(operations: Sequence[NameParts]) -> str:
    """The first word of every `operationId`, as generators put the name of the API there."""
    ids = [one.operation_id for one in operations if one.operation_id]
    first = _FIRST.match(ids[0]) if len(ids) >= MANY else None
    if first is None or first[1].lower() in VERBS:
        return ""
    return first[0] if all(one.startswith(first[0]) for one in ids) else ""


def candidates(one: NameParts, group: str, namespace: str, prefix: str = "") -> Iterator[str]:
    """From the shortest that is wanted to the one that says all, each with its group; at most `MOST_FORMS`."""
    text = one.operation_id.strip().removeprefix(prefix)
    made = spellings(one, text, group, namespace)
    if to_ascii(text)[1] and words(to_ascii(text)[0]):
        made = iter([text])  # lookalikes must not pass for each other
    first, is_named = "", False
    for each in made:
        first = first or each
        name = identifier(each, "operation")
        if not name.endswith("_") and name.lower() != "all":
            is_named = True
            yield f"{group}.{name}"
    if not is_named:
        yield f"{group}.{identifier(f'{one.method.lower()} {first}', 'operation')}"


def spellings(one: NameParts, text: str, group: str, namespace: str) -> Iterator[str]:
    room = max(SHORTEST, LENGTH - len(namespace) - len(group) - 2)
    own = name_words(text, one.method, one.path)
    name, outer = own, own
    for said in (words(to_ascii(one.tags[0])[0]) if one.tags else [], words(group)):
        name, outer = without_group(name, said), without_group(outer, said, inner=False)
    yield " ".join(shorten_name(shorten_name(name, group, room), group, MAX_LENGTH))
    given = parameters_of(one.path)
    forms = [name, outer, *([*name, "By", last] for last in given[-1:])]
    forms += [[*name, "By", *given]] if len(given) > 1 else []
    forms += [own, [one.method.lower(), *name], from_path(one.method, one.path, given)]
    yield from (" ".join(shorten_name(form, group, MAX_LENGTH)) for form in forms)


def operation_name(operation_id: str, method: str, path: str, tag: str) -> str:
    """The name of an operation that no other one of its document wants, of any length."""
    names = candidates(NameParts(method, path, (tag,), operation_id), identifier(tag, "group"), "")
    return next(names).partition(".")[2]


def name_words(text: str, method: str, path: str) -> list[str]:
    """Of the operationId, without the slug of method and path that frameworks add to it; else of the path."""
    slug = re.sub(r"\W", "_", path) + f"_{method.lower()}"
    if text.endswith(slug) and len(text) > len(slug):
        text = text[: -len(slug)]
    spelled = _VERB_AND_PATH.match(text)
    found = words(to_ascii(spelled[3] or "" if spelled is not None else text)[0])
    if found and found[0][0].isalpha():
        return found
    return from_path(method, path, parameters_of(path)[-1:] if path.rstrip("/").endswith("}") else ())


def without_group(name: list[str], group: list[str], *, inner: bool = True) -> list[str]:
    """`chatPostMessage` of `chat` → `postMessage`; `createCoreV1NamespacedPod` of `coreV1` → `createNamespacedPod`.

    A group of one word stays behind a verb: `listIssues` of `issues` reads well.
    """
    size = len(group)
    rest = name[size:]
    if size and alike(name[:size], group) and tells(rest):
        name = rest[1:] if rest[0].lower() in CLASSES and tells(rest[1:]) else rest
    if inner and size > 1 and alike(name[1 : size + 1], group):
        name = [name[0], *name[size + 1 :]]
    if len(name) == 2 and "id" in (name[0].lower(), name[1].lower()) and size:
        verb = name[0] if name[1].lower() == "id" else name[1]
        return [verb.lower(), "By", "Id"]
    return name


def tells(rest: Sequence[str]) -> bool:
    """Whether it is a name on its own: not a version, nor what is left of a sentence."""
    text = "".join(rest)
    if not text or not rest[0][0].isalpha() or rest[0].lower() in JOINTS or rest[0].lower() == "v":
        return False
    return len(text) > 1


def alike(first: Sequence[str], second: Sequence[str]) -> bool:
    return len(first) == len(second) and all(map(eq, map(singular, first), map(singular, second)))


@lru_cache(5_000)
def singular(word: str) -> str:
    word = word.lower()
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def shorten_name(name: list[str], group: str, room: int) -> list[str]:
    """Without the words of its group, or words it has twice. Others go only from the middle of very long names: what
    is left must not read like something else."""
    if len("".join(name)) <= room:
        return name
    said = {singular(word) for word in words(group)}
    first, *rest = name
    own = end_words([first, *(word for word in rest if singular(word) not in said)])
    once = end_words(list({singular(word): word for word in reversed(own)}.values())[::-1])
    for each in (own, once):
        if len("".join(each)) <= room and any(word.lower() not in ("id", "by") for word in each[1:]):
            return each
    head, rest = name[:2], name[2:]
    while len(rest) > 1 and len("".join(head + rest)) > LONGEST:
        rest = rest[1:]
    return [*head, *rest]


def end_words(name: list[str]) -> list[str]:
    while len(name) > 1 and name[-1].lower() in JOINTS:
        name = name[:-1]
    return name


def parameters_of(path: str) -> list[str]:
    return re.findall(r"\{([^{}]+)\}", path)


def from_path(method: str, path: str, given: Sequence[str]) -> list[str]:
    fixed = fixed_parts(path)
    telling = [part for part in fixed if not _PLAIN_PART.fullmatch(part)] or fixed
    return words(to_ascii(" ".join([method.lower(), *telling, *(["by", *given] if given else [])]))[0])


def kept_names(known: Mapping[str, str], namespace: str) -> dict[str, str]:
    """Names given before, by `METHOD /path`, without their namespace; none that is not safe, none twice."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for key, path in known.items():
        name = path.removeprefix(f"{namespace}.").removesuffix(ALL)
        if _KEPT.match(name) and name.lower() not in seen and not TAKEN & set(name.split(".")):
            seen.add(name.lower())
            found[key] = name
    return found
