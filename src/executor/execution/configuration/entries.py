"""What an entry of a configuration says. An unknown key is refused, and no message repeats a value of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from difflib import get_close_matches
from typing import Any, Literal, cast, get_args

from executor.dataclass import dataclass
from executor.errors import ExecutorError
from executor.execution.configuration.document import Entry, Problem, kind_of
from executor.execution.toolkits.draft import NARROWING, ToolkitDraft, check_draft, draft_policy
from executor.model.declaration import Noun
from executor.model.digest import digest
from executor.model.identity.permissions import Role
from executor.model.policy import Action, ApprovalDefaults, Policy
from executor.model.tool import Effect
from executor.policy.drafts import draft
from executor.sources.lifecycle import namespaces

Mode = Literal["static", "workspace", "actor"]
TYPES = ("mcp", "openapi", "graphql", "python")
WORDS: dict[str, Action] = {
    "auto": "allow",
    "required": "require_approval",
    "allow": "allow",
    "require_approval": "require_approval",
    "deny": "deny",
}
KEYS: dict[Noun, tuple[str, ...]] = {
    "source": (
        *("type", "name", "command", "spec", "url", "endpoint", "module", "baseUrl", "transport", "include", "exclude"),
        *("auth", "defaultApproval", "defaultReadApproval", "defaultQueryApproval", "defaultWriteApproval"),
        *("defaultMutationApproval", "defaultDestructiveApproval"),
    ),
    "policy": ("name", "pattern", "action", "conditions", "level", "effect", "note", "actor", "source"),
    "secret": ("name", "provider", "reference"),
    "member": ("email", "role"),
    "toolkit": ("slug", "name", "description", "patterns", "passThrough", "policies"),
}
VALUES = ("value", "token", "key", "password", "apiKey", "bearer", "credential")  # what people would write a secret as


class EntryError(Exception):
    def __init__(self, key: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.key, self.message, self.hint = key, message, hint


class Fields:
    """The keys of a table, each asked for once; `finish` refuses all others."""

    def __init__(self, found: dict[str, Any], within: str = "") -> None:
        self._found, self._within, self._known = found, within, set[str]()

    def key(self, name: str) -> str:
        return f"{self._within}.{name}" if self._within else name

    def get(self, name: str) -> Any:
        self._known.add(name)
        return self._found.get(name)

    def text(self, *names: str, required: bool = False) -> str:
        """The first of these names that is given; they mean the same."""
        given = [name for name in names if self.get(name) is not None]
        if len(given) > 1:
            raise EntryError(self.key(given[1]), f"it means the same as `{given[0]}`", "leave one of them out")
        if not given:
            if required:
                raise EntryError(self.key(names[0]), f"`{names[0]}` is missing", "add it")
            return ""
        value = self.get(given[0])
        if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > 4096:
            raise EntryError(self.key(given[0]), f"it is {kind_of(value)}; expected one line of text")
        return value.strip()

    def choice(self, allowed: Sequence[str], *names: str) -> str:
        given = self.text(*names)
        if given and given not in allowed:
            key = next(name for name in names if self.get(name) is not None)
            near = get_close_matches(given, allowed, n=1)
            hint = f"did you mean `{near[0]}`? " if near else ""
            raise EntryError(self.key(key), f"unknown value of `{key}`", f"{hint}use one of {', '.join(allowed)}")
        return given

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise EntryError(self.key(name), f"it is {kind_of(value)}; expected a list of texts")
        return tuple(value)

    def table(self, name: str) -> Fields | None:
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise EntryError(self.key(name), f"it is {kind_of(value)}; expected a table")
        return Fields(value, self.key(name))

    def finish(self) -> None:
        for name in self._found:
            if name in self._known:
                continue
            if name in VALUES or name.endswith(("Token", "Key", "Password")):
                hint = "never write a secret here: store it with `executor secrets set NAME` and name it as `secret`"
            else:
                hint = near_key(name, self._known) or f"known keys: {', '.join(sorted(self._known))}"
            raise EntryError(self.key(name[:100]), "unknown key", hint)


def near_key(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"did you mean `{near[0]}`?" if near else ""


@dataclass(frozen=True, slots=True)
class Auth:
    """Where a stored secret goes. Without a `type`, the source says it. With the mode `actor`, each has their own."""

    mode: Mode
    type: str = ""
    name: str = ""
    secrets: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SourceEntry:
    name: str
    kind: str
    location: str = ""
    command: tuple[str, ...] = ()
    base_url: str = ""
    transport: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    defaults: ApprovalDefaults = field(default_factory=dict)
    auth: Auth | None = None

    @property
    def digests(self) -> tuple[str, str]:
        """Of what decides where calls go and which tools there are, and of the rest."""
        where = (self.kind, self.location, self.command, self.base_url, self.transport, self.include, self.exclude)
        auth = [] if self.auth is None else [self.auth.mode, self.auth.type, self.auth.name, self.auth.secrets]
        return digest(where), digest([dict(self.defaults), auth])

    @property
    def digest(self) -> str:
        return ":".join(self.digests)


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """`actor` and `source` by name."""

    name: str
    policy: Policy
    actor: str = ""
    source: str = ""

    @property
    def digest(self) -> str:
        one = self.policy
        conditions = [[condition.path, condition.test, condition.value] for condition in one.conditions]
        return digest([one.pattern, one.action, one.level, one.effect, one.note, conditions, self.actor, self.source])


@dataclass(frozen=True, slots=True)
class SecretEntry:
    name: str
    provider: Literal["environment", "vault", "onepassword"]
    reference: str

    @property
    def digest(self) -> str:
        return digest([self.provider, self.reference])


@dataclass(frozen=True, slots=True)
class MemberEntry:
    name: str  # the email address
    role: Role

    @property
    def digest(self) -> str:
        return digest([self.role])


@dataclass(frozen=True, slots=True)
class ToolkitEntry:
    draft: ToolkitDraft

    @property
    def name(self) -> str:
        return self.draft.slug

    @property
    def digest(self) -> str:
        one = self.draft
        policies = [
            [each.pattern, each.action, each.effect, each.note, [[c.path, c.test, c.value] for c in each.conditions]]
            for each in one.policies
        ]
        return digest([one.slug, one.name, one.description, one.patterns, one.pass_through, policies])


AnyEntry = SourceEntry | PolicyEntry | SecretEntry | MemberEntry | ToolkitEntry


def read_entry(entry: Entry) -> AnyEntry | Problem:
    readers = {
        "source": read_source,
        "policy": read_policy,
        "secret": read_secret,
        "member": read_member,
        "toolkit": read_toolkit,
    }
    fields = Fields(entry.fields)
    try:
        found = readers[entry.noun](fields)
        fields.finish()
    except EntryError as error:
        return Problem(
            entry.at(error.key), error.message, "; ".join(filter(None, (error.hint, *misspelt(entry, error))))
        )
    except ExecutorError as error:
        return Problem(entry.at(), error.message, error.hint)
    return cast("AnyEntry", found)


def misspelt(entry: Entry, reported: EntryError) -> Iterator[str]:
    """Keys that no entry of its noun has: what is missing may be there under another name."""
    for name in entry.fields:
        if name not in KEYS[entry.noun] and name != reported.key and (hint := near_key(name, KEYS[entry.noun])):
            yield f"`{name[:100]}` is an unknown key, {hint}"


def read_source(fields: Fields) -> SourceEntry:
    kind = fields.choice(TYPES, "type")
    if not kind:
        raise EntryError("type", "`type` is missing", f"use one of {', '.join(TYPES)}")
    name = fields.text("name", required=True)
    try:
        namespaces.check(name)
    except ExecutorError as error:
        raise EntryError("name", f"it is not a namespace: {error.message}", error.hint) from None
    command = fields.texts("command") if kind == "mcp" else ()
    location = "" if command else read_location(fields, kind)
    auth = read_auth(fields.table("auth"))
    if command and auth is not None:
        raise EntryError("auth", "a command gets no credential from here", "use `executor connections add`")
    return SourceEntry(
        name,
        kind,
        location,
        command,
        fields.text("baseUrl") if kind == "openapi" else "",
        fields.choice(("http", "sse"), "transport") if kind == "mcp" else "",
        fields.texts("include"),
        fields.texts("exclude"),
        read_defaults(fields),
        auth,
    )


def read_location(fields: Fields, kind: str) -> str:
    if kind == "openapi":
        return fields.text("spec", "url", required=True)
    if kind == "python":
        return f"python:{fields.text('module', required=True)}"
    location = fields.text("url", "endpoint", required=True)
    if not location.startswith(("http://", "https://")):
        raise EntryError("url", "it is not an address", "it begins with https:// or http://")
    return location


def read_defaults(fields: Fields) -> ApprovalDefaults:
    """`defaultApproval` is for all effects. A word for writes that loosens is not for destructive calls; one that
    tightens is."""
    all_, read, write, destructive = (
        fields.choice(tuple(WORDS), *names)
        for names in (
            ("defaultApproval",),
            ("defaultReadApproval", "defaultQueryApproval"),
            ("defaultWriteApproval", "defaultMutationApproval"),
            ("defaultDestructiveApproval",),
        )
    )
    found: dict[str, str] = dict.fromkeys(get_args(Effect), all_) if all_ else {}
    if write and WORDS[write] != "allow":
        found["destructive"] = write
    found |= {effect: word for effect, word in (("read", read), ("write", write), ("destructive", destructive)) if word}
    return {cast("Effect", effect): WORDS[word] for effect, word in found.items()}


def read_auth(fields: Fields | None) -> Auth | None:
    if fields is None:
        return None
    mode = fields.choice(get_args(Mode), "mode")
    if not mode:
        raise EntryError("auth.mode", "`mode` is missing", f"use one of {', '.join(get_args(Mode))}")
    if mode == "actor":
        fields.finish()
        return Auth("actor")
    type = fields.choice(("bearer", "apiKey", "basic"), "type")
    name = fields.text("header", required=True) if type == "apiKey" else ""
    secrets = {"": fields.text("secret", required=True)}
    if type == "basic":
        secrets = {"username": fields.text("usernameSecret", required=True), "password": secrets[""]}
    fields.finish()
    return Auth(cast("Mode", mode), type, name, tuple(secrets.items()))


def read_conditions(fields: Fields) -> list[dict[str, Any]]:
    conditions = fields.get("conditions") or []
    if not isinstance(conditions, list) or not all(isinstance(one, dict) for one in conditions):
        raise EntryError(fields.key("conditions"), f"it is {kind_of(conditions)}; expected a list of tables")
    for index, one in enumerate(conditions):
        if set(one) != {"path", "test", "value"}:
            raise EntryError(fields.key(f"conditions[{index}]"), "a condition has `path`, `test` and `value`")
    return conditions


def read_toolkit(fields: Fields) -> ToolkitEntry:
    listed = fields.get("policies") or []
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise EntryError("policies", f"it is {kind_of(listed)}; expected a list of tables")
    found = ToolkitDraft(
        fields.text("slug", required=True),
        fields.texts("patterns"),
        fields.text("name"),
        fields.text("description"),
        tuple(read_toolkit_policy(Fields(one, f"policies[{number}]")) for number, one in enumerate(listed)),
        fields.texts("passThrough"),
    )
    check_draft(found)
    return ToolkitEntry(found)


def read_toolkit_policy(fields: Fields) -> Policy:
    given = {
        "pattern": fields.text("pattern", required=True),
        "action": fields.choice(NARROWING, "action"),
        "conditions": read_conditions(fields),
        "effect": fields.choice(get_args(Effect), "effect"),
        "note": fields.text("note"),
    }
    fields.finish()
    return draft_policy(given)


def read_policy(fields: Fields) -> PolicyEntry:
    conditions = read_conditions(fields)
    level = fields.choice(("workspace", "organization"), "level") or "workspace"
    policy = draft(
        fields.text("pattern", required=True),
        fields.choice(get_args(Action), "action") or "",
        conditions,
        level=cast("Any", level),
        effect=fields.choice(get_args(Effect), "effect"),
        note=fields.text("note"),
    )
    return PolicyEntry(fields.text("name", required=True), policy, fields.text("actor"), fields.text("source"))


def read_secret(fields: Fields) -> SecretEntry:
    provider = fields.choice(("environment", "vault", "onepassword"), "provider") or "environment"
    name, reference = fields.text("name", required=True), fields.text("reference", required=True)
    return SecretEntry(name, cast("Any", provider), reference)


def read_member(fields: Fields) -> MemberEntry:
    role = fields.choice(get_args(Role), "role")
    if not role:
        raise EntryError("role", "`role` is missing", f"use one of {', '.join(get_args(Role))}")
    return MemberEntry(fields.text("email", required=True).lower(), cast("Role", role))
