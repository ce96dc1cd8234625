"""What an entry of a configuration says. An unknown key is refused, and no message repeats a value of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, cast, get_args

from executor.errors import ExecutorError
from executor.execution.configuration.document import Entry, Problem, kind_of
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
            raise EntryError(self.key(key), "unknown word", f"use one of {', '.join(allowed)}")
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
                near = get_close_matches(name, self._known, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"known keys: {', '.join(sorted(self._known))}"
            raise EntryError(self.key(name[:100]), "unknown key", hint)


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


AnyEntry = SourceEntry | PolicyEntry | SecretEntry | MemberEntry


def read_entry(entry: Entry) -> AnyEntry | Problem:
    readers = {"source": read_source, "policy": read_policy, "secret": read_secret, "member": read_member}
    fields = Fields(entry.fields)
    try:
        found = readers[entry.noun](fields)
        fields.finish()
    except EntryError as error:
        return Problem(entry.at(error.key), error.message, error.hint)
    except ExecutorError as error:
        return Problem(entry.at(), error.message, error.hint)
    return cast("AnyEntry", found)


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


def read_policy(fields: Fields) -> PolicyEntry:
    conditions = fields.get("conditions") or []
    if not isinstance(conditions, list) or not all(isinstance(one, dict) for one in conditions):
        raise EntryError("conditions", f"it is {kind_of(conditions)}; expected a list of tables")
    for index, one in enumerate(conditions):
        if set(one) != {"path", "test", "value"}:
            raise EntryError(f"conditions[{index}]", "a condition has `path`, `test` and `value`")
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
