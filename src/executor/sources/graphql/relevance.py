"""Which fields of a type a caller most likely wants, by what their names, types and descriptions say."""

from __future__ import annotations

import re

from executor.sources.graphql.schema.outline import COMPOSITE, Field, NamedType, Outline, inner_name, is_list

# Best first. What is in one group is of equal worth; then the order of the schema counts.
NAMES = (
    ("id",),
    ("name", "title", "number", "identifier", "key", "login", "username", "slug", "nameWithOwner", "fullName", "code"),
    ("displayName", "fullPath", "handle", "reference", "iid", "sku", "subject", "label", "headline", "symbol"),
    ("state", "status", "priority", "priorityLabel", "type", "kind", "severity", "visibility", "url", "webUrl"),
    ("amount", "currency", "currencyCode", "price", "total", "totalCount", "quantity", "value", "count", "estimate"),
    ("createdAt", "updatedAt", "dueDate", "closedAt", "completedAt", "publishedAt", "pushedAt", "mergedAt"),
    ("created", "updated", "date", "startDate", "endDate", "startedAt", "dueAt", "sentAt", "targetDate"),
    ("description", "summary", "message", "email", "country", "city", "stargazerCount", "forkCount"),
    ("isDraft", "isPrivate", "isArchived", "isFork", "archived", "private", "active", "availableForSale"),
)
BRIEF = 5  # groups of these that say which thing it is, and its state
MOMENTS = (5, 6, 30)  # ranks of dates
OBJECTS = (
    ("errors", "userErrors"),
    ("nodes", "edges", "node", "items", "results", "records", "pageInfo"),
    ("state", "status", "owner", "author", "creator", "team", "assignee", "user", "customer", "account"),
    ("project", "repository", "organization", "workspace", "group", "company", "channel", "category"),
    ("primaryLanguage", "defaultBranchRef", "milestone", "cycle", "parent", "productType", "type", "priority"),
    ("labels", "tags", "assignees", "topics", "repositoryTopics", "categories"),
    ("price", "pricing", "priceRange", "cost", "total", "amount", "lines", "lineItems", "variants", "counts"),
    ("address", "shippingAddress", "billingAddress", "location", "thumbnail", "featuredImage", "licenseInfo"),
)
TELLING = ("state", "status", "owner", "author", "creator", "assignee")
# Pages inside of things that say what these are; of them the first few are shown.
SHORT_PAGES = frozenset(
    {"labels", "tags", "assignees", "topics", "repositoryTopics", "categories", "lines", "lineItems", "items"}
)
DATES = frozenset({"Date", "DateTime", "Time", "Timestamp", "TimelessDate", "ISO8601DateTime", "ISO8601Date"})
OBJECTS_OF_JSON = frozenset({"JSON", "JSONObject", "JSONString", "Json", "jsonb"})
COUNTS = frozenset({"count", "total", "number", "amount", "price", "quantity", "size", "score"})
TEXTS = frozenset({"body", "content", "text"})
LONG = frozenset(
    {"body", "content", "contents", "html", "markdown", "text", "json", "raw", "data", "metadata", "metafields", "diff",
     "patch", "log", "logs", "xml", "svg", "base64", "blob", "snapshot", "history", "prosemirror", "document"}
)  # fmt: skip
# The same again in another form.
COPIES = frozenset({"html", "text", "markdown", "json", "plain", "data", "path"})
ASIDE = frozenset(
    {"viewer", "path", "cursor", "hash", "avatar", "icon", "image", "color", "logo", "background", "token", "sort",
     "order", "database", "legacy", "internal", "interaction", "sponsors", "sponsorship", "ip", "billing", "payout",
     "saml", "sso", "security", "setting", "settings", "restriction", "policy", "hovercard", "showcase", "endpoints",
     "pinned", "pinnable", "favorite", "integration", "integrations", "sync", "encoded"}
)  # fmt: skip
SECRETS = frozenset({"secret", "password", "passphrase"})
FLAGS = frozenset({"has", "can", "should", "allow", "allows", "enable", "enabled", "use", "uses", "any", "includes"})
# Ranks from here on: objects that nothing is known of, and what is shown only where there is little else.
UNNAMED = 50
LATE = 70

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WHO = r"(?:admin\w*|staff|owners?|maintainers?|managers?|employees?|moderators?|superusers?|support)"
_RIGHT = rf"(?:permissions?|scopes?|privileges?|authenticat\w+|authori[sz]\w+|access|roles?|{_WHO})"
# What is said of the field itself, and nothing else can be meant.
_MARKED = re.compile(
    rf"""
      \[\s*(?:internal|alpha|beta|private|preview|experimental|deprecated|restricted|dev)\b
    | ^\W*(?:internal|private|experimental|alpha|beta|deprecated)\s*[:.,;!\u2013\u2014-]
    | \b(?-i:DEPRECATED)\b | \b(?:is|are|was|been)\s+deprecated\b
    | \binternal\s+use\b | \binternal[ -]only\b | \bused\s+internally\b
    | (?:^|[.!?:)]\s+)requires?\b[^.]{{0,90}}?\b{_RIGHT}\b
    | \b\w+:\w+\s+(?:oauth\s+)?(?:scope|permission)\b
    | \b{_WHO}[ -]only\b | \bteam[ -]only\b
    | \b(?:currently\s+)?in\s+(?:an?\s+)?(?:early\s+|closed\s+|private\s+|public\s+|open\s+|limited\s+)?(?:beta|alpha)\b
    | \b(?:in|a)\s+feature[ -]preview\b | \b(?:behind|under|gated|requires)\b[^.]{{0,30}}?\bfeature[ -]flag
    | \b(?:beta|alpha|experimental)\s+(?:feature|field|flag|program|api)\b | \bis\s+experimental\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
# The same words where they may as well be what the field is about.
_HEDGED = re.compile(
    rf"""
      \brequir(?:es?|ing)\b[^.]{{0,90}}?\b{_RIGHT}\b
    | \bneeds?\b[^.]{{0,60}}?\b(?:permissions?|scopes?|privileges?)\b
    | \b(?:permissions?|scopes?|privileges?)\b[^.]{{0,30}}?\b(?:is|are)\s+(?:required|needed)\b
    | \bmust\s+(?:be|have|possess|hold)\b[^.]{{0,60}}?\b(?:permissions?|scopes?|privileges?|{_WHO})\b
    | \b(?:visible|available|accessible|viewable|readable|returned|exposed|shown)\b[^.]{{0,40}}?
      \b(?:to|for|by|with)\b[^.]{{0,60}}?\b(?:permissions?|scopes?|privileges?|administer|{_WHO})\b
    | \bonly\s+visible\s+to\b
    | \b(?:restricted|limited)\s+to\s[^.]{{0,40}}?\b{_WHO}\b
    | \bonly\s+(?:for\s+)?(?:admin\w*|staff|owners?|maintainers?|employees?)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_STATEMENT = re.compile(r"\W*(?:whether|if|can|indicates?|determines?|true|defines|controls|the visibility)\b", re.I)
_SENTENCE = re.compile(r"(?<=[a-z\])])[.!?]\s")
_PRIVATE = re.compile(r"private(?=[A-Z_\d])")
# None of the patterns matches without one of these.
_SIGNS = (
    "internal", "alpha", "beta", "private", "preview", "experimental", "deprecated", "[", "permission", "scope",
    "privilege", "authenticat", "authori", "access", "role", "admin", "staff", "owner", "maintainer", "manager",
    "employee", "moderator", "superuser", "support", "team", "feature", "only visible",
)  # fmt: skip
MAX_READ = 2_000


def is_guarded(text: str) -> bool:
    """Whether a description says that not everyone gets this, or that it is not meant to be used."""
    line = " ".join(text[:MAX_READ].split())
    lowered = line.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return False
    return bool(_MARKED.search(line) or (not _STATEMENT.match(line) and _HEDGED.search(line)))


def is_guarded_type(text: str) -> bool:
    """By the first sentence: the rest is about everything that can be done with it."""
    return is_guarded(_SENTENCE.split(text[:MAX_READ].strip(), maxsplit=1)[0])


def is_selectable(field: Field, outline: Outline) -> bool:
    """Whether a call that did not choose may ask for it."""
    if field.deprecated or field.needs_arguments or _PRIVATE.match(field.name) or is_guarded(field.description):
        return False
    if SECRETS & set(words_of(field.name)) and inner_name(field.type) in ("String", "ID"):
        return False
    named = outline.types[inner_name(field.type)]
    if named.name in outline.roots.values():  # what is behind it are calls of their own
        return False
    return named.kind not in COMPOSITE or not is_guarded_type(named.description)


def words_of(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def is_copy(field: Field, named: NamedType) -> bool:
    """`bodyHTML` beside `body`, `resourcePath` beside `url`."""
    words = words_of(field.name)
    if len(words) < 2 or words[-1] not in COPIES:
        return False
    whole = field.name[: -len(words[-1])].rstrip("_")
    if words[-1] == "path" and whole in ("resource", f"{whole.removesuffix('Resource')}Resource"):
        return "url" in named.fields or f"{whole.removesuffix('Resource')}Url" in named.fields
    return whole in named.fields


def leaf_rank(field: Field, outline: Outline) -> int:
    """Lower is better: meaningful names, enums, dates and counts, then flags and other texts; long texts last."""
    known = group_of(field.name, NAMES)
    if known is not None:
        return known
    words, type = words_of(field.name), inner_name(field.type)
    last = words[-1] if words else ""
    if field.name in TEXTS:
        return 60
    if LONG & set(words):
        return 90
    if ASIDE & set(words) or type in OBJECTS_OF_JSON:
        return LATE
    return scalar_rank(words, last, type, field, outline)


def scalar_rank(words: list[str], last: str, type: str, field: Field, outline: Outline) -> int:
    if is_list(field.type):
        return 55
    if outline.types[type].kind == "enum":
        return 20
    if last in ("name", "title") or (last in COUNTS and type in ("Int", "Float", "BigInt")):
        return 25
    if type in DATES or last in ("at", "date", "on"):
        return 30
    if type == "Boolean":
        return 50 if words and words[0] in FLAGS else 40
    return 45 if last in ("url", "id") else 35


def object_rank(field: Field) -> tuple[int, bool, bool]:
    """Those with meaningful names; then single objects before lists, and required fields before nullable ones."""
    words = words_of(field.name)
    known = group_of(field.name, OBJECTS)
    if known is None:
        known = LATE if (ASIDE | LONG) & set(words) else UNNAMED
        if words and (words[-1] in TELLING or words[0] == "total"):
            known = UNNAMED - 1
    return known, is_list(field.type), not field.type.endswith("!")


def group_of(name: str, groups: tuple[tuple[str, ...], ...]) -> int | None:
    return next((number for number, group in enumerate(groups) if name in group), None)
