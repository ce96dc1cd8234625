"""The shapes of request bodies. An unknown field is refused, and no type is guessed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, WithJsonSchema
from pydantic.alias_generators import to_camel

from executor.model.use_limits import Priority

MAX_WAIT = 600
DEFAULT_WAIT = 30
MAX_TIMEOUT_MS = 3_600_000
Wait = Annotated[float, Field(ge=0, le=MAX_WAIT, allow_inf_nan=False, description="seconds to wait for an outcome")]

ResultForm = Literal["whole", "preview"]  # of a result that is kept as an artifact


def check_printable(text: str) -> str:
    """It is in lists, prompts and logs: nothing in it may pass for something else."""
    if not text.isprintable() or not text.strip():
        raise ValueError("a name must have only visible characters")
    return text.strip()


def leave_out_default(schema: dict[str, Any]) -> None:
    """Of a field without one: what is there only says that it may be left out."""
    schema.pop("default", None)


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


class NewExecution(Body):
    """`runtimeId` is another word for `runtime`. `workspaceId` and `actorId` must be those of the credential.

    `priority` is `normal` by default, and not everyone may use `high`. `clientId` is kept with the execution. Of an
    anonymous agent it must be the one of its session.
    """

    code: str
    language: str | None = None
    runtime: str | None = None
    runtime_id: str | None = None
    workspace_id: str | None = None
    actor_id: str | None = None
    client_id: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(check_printable)] | None = None
    timeout_ms: Annotated[int, Field(ge=1, le=MAX_TIMEOUT_MS)] | None = None
    typecheck: Literal["error", "warn", "off"] | None = None
    priority: Priority | None = None
    wait: Wait = DEFAULT_WAIT
    result: ResultForm = "whole"


class CheckedCode(Body):
    code: str
    language: str = "typescript"


class CompletedCode(CheckedCode):
    """The position is `line` and `column`, both from 1, or `offset` in characters."""

    line: Annotated[int, Field(ge=1)] | None = None
    column: Annotated[int, Field(ge=1)] | None = None
    offset: Annotated[int, Field(ge=0)] | None = None


class Resume(Body):
    wait: Wait = DEFAULT_WAIT
    result: ResultForm = "whole"


class Condition(Body):
    """`path` is a JSON pointer into the arguments."""

    path: Annotated[str, Field(max_length=500)]
    test: Literal["equals", "one_of", "matches", "at_most", "at_least"]
    value: Any


class PolicyDraft(Body):
    """`actor` and `source` by name or ID; filters that are left out match everything."""

    pattern: Annotated[str, Field(min_length=1, max_length=500)]
    action: Literal["allow", "require_approval", "deny"]
    conditions: Annotated[list[Condition], Field(max_length=20)] = []
    actor: Annotated[str, Field(max_length=200)] = ""
    source: Annotated[str, Field(max_length=200)] = ""
    effect: Literal["read", "write", "destructive"] | None = None
    note: Annotated[str, Field(max_length=1000)] = ""
    level: Literal["organization", "workspace"] = "workspace"


class PolicyChange(PolicyDraft):
    """Fields that are left out do not change; an empty `actor` or `source` removes that filter."""

    pattern: Annotated[str, Field(min_length=1, max_length=500, json_schema_extra=leave_out_default)] = ""
    action: Annotated[Literal["allow", "require_approval", "deny"], Field(json_schema_extra=leave_out_default)] = "deny"


class Approve(Body):
    """`result` only for an `unknown_outcome`: the actual result of the interrupted call, as a JSON value.

    `rule` only with the scope `always`: the policy to create instead of the draft, and `broader` if it covers more.
    `treatAsRead` creates the policy that allows the tool like a read, for every caller.
    """

    result: Any = None
    scope: Literal["once", "execution", "session", "always"] = "once"
    rule: PolicyDraft | None = None
    broader: bool = False
    treat_as_read: bool = False


class Deny(Body):
    reason: Annotated[str, Field(max_length=2000)] = ""


class AnswerElicitation(Body):
    """`content` goes with `accept` of a form: an object with a value for each field."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None


Filters = Annotated[list[Annotated[str, Field(min_length=1, max_length=300)]], Field(max_length=100)]


Action = Literal["allow", "require_approval", "deny"]


class ApprovalDefaults(Body):
    """What happens to calls of each effect that no policy decides about. An effect that is left out, or null, has the
    built-in default."""

    read: Action | None = None
    write: Action | None = None
    destructive: Action | None = None


# Clients spell one of them in three ways. The document has one: generated clients name constants by the words.
Transport = Annotated[
    Literal["auto", "http", "sse", "stdio", "streamable-http", "streamable_http", "streamableHttp"],
    WithJsonSchema({"type": "string", "enum": ["auto", "http", "sse", "stdio", "streamable-http"]}),
]


class Placement(Body):
    """`template` names inputs in braces: `Bearer {token}`; `{basic}` is the user name and password of HTTP Basic."""

    place: Annotated[Literal["header", "query", "cookie", "environment"], Field(alias="in")]
    name: Annotated[str, Field(min_length=1, max_length=200)]
    template: Annotated[str, Field(min_length=1, max_length=500)]


class Provided(Body):
    """A credential: `values` are entered now, `secrets` names existing ones; both by input.

    `allowOrigin` lets those secrets be sent to this source too, if they belong elsewhere.
    """

    values_: Annotated[dict[str, SecretStr], Field(alias="values", max_length=50)] = {}
    secrets: Annotated[dict[str, str], Field(max_length=50)] = {}
    way: Annotated[str, Field(max_length=500)] = ""
    placements: Annotated[list[Placement], Field(max_length=20)] = []
    name: Annotated[str, Field(max_length=64)] = ""
    scope: Literal["actor", "workspace"] = "workspace"
    allow_origin: bool = False


class NewSource(Body):
    """`include` and `exclude` choose its tools: `tag:issues`, `path:/repos/**`, `method:DELETE`, `admin.**`.

    `url` and `endpoint` are other words for `location`; `endpoint` with `specUrl` is the address the calls go to.
    `transport` is another word for `options.transport`. `credential` is what it is read with, if it shows nothing
    without one: it is sent to the origin of the document or endpoint and kept as a connection. It needs `placements`.
    """

    location: Annotated[str, Field(max_length=4096)] = ""
    url: Annotated[str, Field(max_length=4096)] = ""
    endpoint: Annotated[str, Field(max_length=4096)] = ""
    transport: Transport = "auto"
    document: str | None = None
    command: Annotated[list[str], Field(max_length=200)] = []
    consent: bool = False
    inherit_rules: bool = False
    kind: Annotated[str, Field(max_length=64)] = ""
    namespace: Annotated[str, Field(max_length=64)] = ""
    name: Annotated[str, Field(max_length=200)] = ""
    base_url: Annotated[str, Field(max_length=4096)] = ""
    spec_url: Annotated[str, Field(max_length=4096)] = ""
    headers: dict[str, str] = {}
    options: dict[str, Any] = {}
    include: Filters = []
    exclude: Filters = []
    hints: Literal["trust", "ask"] = "ask"
    defaults: ApprovalDefaults = ApprovalDefaults()
    credential: Provided | None = None


class HintsDecision(Body):
    """`trust` the read-only hints of an MCP server: for all tools, or some by their paths; or `ask`."""

    decision: Literal["trust", "ask"]
    tools: Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=2000)] | None = None


class AcceptedChange(Body):
    path: Annotated[str, Field(max_length=500)]
    digest: Annotated[str, Field(max_length=64)]


class AcceptedChanges(Body):
    """Changed tools, each with the `digest` of the review that you saw."""

    tools: Annotated[list[AcceptedChange], Field(min_length=1, max_length=2000)]


class ToolChoice(Body):
    """Filters as for a new source; without any, all of its tools. `preview` changes nothing, and `drop` confirms the
    removal of tools that policies or pending calls depend on."""

    include: Filters = []
    exclude: Filters = []
    preview: bool = False
    drop: bool = False


class ToolLabels(Body):
    """Fields that are left out do not change. An empty `path` or `description` restores the source's own;
    `inheritRules` applies policies that would allow calls under the new path."""

    path: Annotated[str, Field(max_length=200)] = ""
    description: Annotated[str, Field(max_length=4000)] = ""
    inherit_rules: bool = False


class SourceChange(Body):
    """What is left out stays. In `headers` and `environment`, null removes a name, and names that are left out stay.

    `location`, `url` and `endpoint` mean the same, and so do `specUrl`, `baseUrl` and `transport` as for a new source.
    `passEnvironment` names variables that a command gets from the daemon, `refreshSeconds` is null for the daemon's own
    setting and 0 for never. `review` says which changed tools of an MCP server wait for a review; null for the daemon's
    own setting. With `preview` nothing changes. `revision` is the one you saw: if the source has another by now,
    nothing changes either. `consent` agrees to what ends when calls go elsewhere, and to running a command.
    """

    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    location: Annotated[str, Field(max_length=4096)] | None = None
    url: Annotated[str, Field(max_length=4096)] | None = None
    endpoint: Annotated[str, Field(max_length=4096)] | None = None
    document: str | None = None
    command: Annotated[list[str], Field(max_length=200)] | None = None
    spec_url: Annotated[str, Field(max_length=4096)] | None = None
    base_url: Annotated[str, Field(max_length=4096)] | None = None
    headers: dict[str, str | None] | None = None
    transport: Transport | None = None
    environment: dict[str, str | None] | None = None
    pass_environment: Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=200)] | None = None
    directory: Annotated[str, Field(max_length=4096)] | None = None
    refresh_seconds: Annotated[int, Field(ge=0, le=365 * 86400)] | None = None
    review: Literal["writes", "all", "none"] | None = None
    defaults: ApprovalDefaults = ApprovalDefaults()
    preview: bool = False
    revision: Annotated[str, Field(max_length=64)] = ""
    consent: bool = False


class NewPolicy(PolicyDraft):
    position: Annotated[int, Field(ge=0, le=1_000_000)] | None = None


class Move(Body):
    position: Annotated[int, Field(ge=0, le=1_000_000)]


class PolicyTest(Body):
    path: Annotated[str, Field(min_length=1, max_length=500)]
    arguments: dict[str, Any] | None = None
    actor: Annotated[str, Field(max_length=200)] = ""


class Simulation(Body):
    """A change of policies: those of one level in another `order`, some removed (`without`), one more `rule` at
    `position`, or all of these."""

    path: Annotated[str, Field(max_length=500)] = ""
    arguments: dict[str, Any] | None = None
    actor: Annotated[str, Field(max_length=200)] = ""
    rule: PolicyDraft | None = None
    position: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    order: Annotated[list[str], Field(max_length=1000)] | None = None
    without: Annotated[list[str], Field(max_length=1000)] = []
    limit: Annotated[int, Field(ge=1, le=1000)] = 200
    before: Annotated[str, Field(max_length=200)] | None = None


class NewSecret(Body):
    name: Annotated[str, Field(min_length=1, max_length=100)]
    value: SecretStr = SecretStr("")
    provider: Literal["store", "keyring", "environment", "vault", "onepassword"] = "store"
    reference: Annotated[str, Field(max_length=1000)] = ""


class RotatedSecret(Body):
    value: SecretStr = SecretStr("")
    reference: Annotated[str, Field(max_length=1000)] = ""


class AllowedOrigin(Body):
    origin: Annotated[str, Field(min_length=1, max_length=2000)]


class NewModelKey(Body):
    """Either `value`, which is stored, or the name of a `secret`."""

    provider: Literal["anthropic", "openai", "gemini"]
    scope: Literal["workspace", "actor"] = "workspace"
    value: SecretStr = SecretStr("")
    secret: Annotated[str, Field(max_length=100)] = ""


class NewConnection(Provided):
    source: Annotated[str, Field(min_length=1, max_length=100)]
    replace: bool = False


class ConfigurationText(Body):
    """The `text` of a file, with a `name` that ends in .toml, .yaml, .yml or .json; without a text, what the daemon
    applies when it starts. `prune` removes what was declared before and no longer is."""

    text: Annotated[str, Field(max_length=1_000_000)] | None = None
    name: Annotated[str, Field(min_length=1, max_length=4096)] = "executor.toml"
    folder: Annotated[str, Field(max_length=4096)] = ""
    prune: bool = False


class NewConfiguration(ConfigurationText):
    """`expected` is the digest of the plan that a person saw, `consent` that they agreed to the commands in it."""

    expected: Annotated[str, Field(max_length=100)] = ""
    consent: bool = False
