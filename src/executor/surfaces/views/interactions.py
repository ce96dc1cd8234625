"""Interactions: what they ask, of whom, and what settling them takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired, cast

import orjson
from typing_extensions import TypedDict

from executor.execution.approvals.authority import Verdict, waits_for
from executor.model.interaction import Interaction, InteractionKind, InteractionStatus, Scope, digest_binding
from executor.surfaces.escape import escape, shorten
from executor.surfaces.views.base import SchemaDifference, time
from executor.surfaces.views.elicitations import ElicitationView, elicitation_lines, elicitation_view

if TYPE_CHECKING:
    from executor.execution.approvals.interactions import Background

PROMPT_ARGUMENTS = 100_000
PAGES = {"credential": "connect", "oauth": "connect"}


class ChangedTool(TypedDict):
    """How the tool differs from the one that a policy was created for; `isNew` if the path did not exist then."""

    policyId: str
    rule: str
    isNew: bool
    differences: list[SchemaDifference]
    cut: bool


class Refusal(TypedDict):
    """Why the caller may not approve an open interaction, and who can."""

    code: str
    message: str
    hint: str


class VerdictView(TypedDict, total=False):
    needs: list[str] | None
    waitsFor: str | None
    refusal: Refusal | None


class InteractionView(VerdictView):
    id: str
    executionId: str | None
    sessionId: str | None
    callSeq: int
    kind: InteractionKind
    status: InteractionStatus
    tool: str
    arguments: Any
    argumentsCut: str | None
    effect: str | None
    host: str | None
    request: NotRequired[str | None]
    sentWith: NotRequired[str | None]
    reason: str
    policyId: str | None
    changed: NotRequired[ChangedTool | None]
    namespace: NotRequired[str | None]
    rules: NotRequired[list[str] | None]
    suggestion: NotRequired[str | None]
    cwd: NotRequired[str | None]
    sessionScope: NotRequired[str | None]
    diffs: NotRequired[list[dict[str, Any]] | None]
    decisionReason: str
    scope: Scope | None
    settledBy: str | None
    settledFrom: str | None
    binding: str
    url: str
    prompt: str
    credential: NotRequired[dict[str, Any] | None]
    elicitation: NotRequired[ElicitationView | None]
    createdAt: str
    expiresAt: str
    settledAt: str | None
    actorId: NotRequired[str | None]
    actor: NotRequired[str | None]
    origin: NotRequired[str | None]
    source: NotRequired[str | None]
    question: NotRequired[str | None]
    description: NotRequired[str | None]
    describedBy: NotRequired[str | None]
    connection: NotRequired[str | None]
    settledByName: NotRequired[str | None]
    outdated: NotRequired[str | None]


def interaction_view(interaction: Interaction, base_url: str, *, whole: bool = False) -> InteractionView:
    """Among others, long arguments are cut, and it says so; `whole` shows all of them."""
    prompt = interaction.prompt
    return {
        "id": interaction.id,
        "executionId": interaction.execution_id or None,
        "sessionId": interaction.session_id or None,
        "callSeq": interaction.call_seq,
        "kind": interaction.kind,
        "status": interaction.status,
        "tool": interaction.binding.path,
        "arguments": prompt.get("arguments"),
        "argumentsCut": prompt.get("cut"),
        "effect": prompt.get("effect"),
        "host": prompt.get("host"),
        "request": prompt.get("request") or None,
        "sentWith": prompt.get("sentWith") or None,
        "reason": prompt.get("reason", ""),
        "policyId": prompt.get("policyId") or None,
        "changed": prompt.get("changed"),
        "namespace": prompt.get("namespace"),
        "rules": prompt.get("rules"),
        "suggestion": prompt.get("suggestion"),
        "cwd": prompt.get("cwd"),
        "sessionScope": prompt.get("sessionScope"),
        "diffs": prompt.get("diffs"),
        "decisionReason": interaction.reason,
        "scope": cast("Scope | None", interaction.scope or None),
        "settledBy": interaction.settled_by or None,
        "settledFrom": interaction.settled_from or None,
        "binding": digest_binding(interaction.binding),
        "url": f"{base_url}/{PAGES.get(interaction.kind, 'approvals')}/{interaction.id}",
        "prompt": prompt_text(interaction, None if whole else PROMPT_ARGUMENTS),
        "credential": prompt.get("credential"),
        "elicitation": elicitation_view(prompt.get("elicitation")),
        "createdAt": time(interaction.created_at),
        "expiresAt": time(interaction.expires_at),
        "settledAt": time(interaction.settled_at),
    }


class InteractionPage(TypedDict):
    items: list[InteractionView]
    next: str | None
    total: int
    partial: bool


def detailed_view(asked: Interaction, base_url: str, known: Background, *, whole: bool) -> InteractionView:
    """Also who asks, of which source, with which credential, and what settling it takes."""
    return {
        **interaction_view(asked, base_url, whole=whole),
        "actorId": asked.binding.actor_id,
        "actor": known.actors.get(asked.binding.actor_id),
        "origin": known.origins.get(asked.execution_id) or None,
        "source": asked.prompt.get("source"),
        "question": asked.prompt.get("question"),
        "description": asked.prompt.get("description"),
        "describedBy": asked.prompt.get("describedBy"),
        "connection": known.connections.get(asked.binding.connection.partition("@")[0]),
        "settledByName": known.actors.get(asked.settled_by),
        **verdict_view(known.verdicts.get(asked.id)),
    }


def verdict_view(verdict: Verdict | None) -> VerdictView:
    """Whom an open interaction waits for, and why that is not the one who looks at it."""
    if verdict is None:
        return {}
    why = verdict.refusal
    refusal: Refusal | None = {"code": why.code, "message": why.message, "hint": why.hint} if why is not None else None
    return {"needs": list(verdict.needs), "waitsFor": waits_for(verdict.needs), "refusal": refusal}


def prompt_text(interaction: Interaction, limit: int | None = PROMPT_ARGUMENTS) -> str:
    """The prompt as a person reads it. Any value in it may come from a stranger, so every value is escaped."""
    prompt = interaction.prompt
    facts = [
        ("Tool", interaction.binding.path),
        ("Effect", prompt.get("effect")),
        ("Source", prompt.get("source")),
        ("Host", prompt.get("host")),
        ("Request", prompt.get("request")),
        ("Credential", prompt.get("sentWith")),
        ("Needs", needs_text(prompt.get("credential"))),
        ("Namespace", prompt.get("namespace")),
        ("Policies", policies_text(prompt.get("rules"))),
        ("Changed", changed_text(prompt.get("changed"))),
        ("Suggestion", prompt.get("suggestion")),
        ("Reason", prompt.get("reason")),
        ("Directory", prompt.get("cwd")),
        ("Execution", interaction.execution_id),
        ("Session", interaction.session_id),
    ]
    lines = [escape(str(prompt.get("question", "")))]
    lines += [f"{name + ':':<12}{escape(str(value))}" for name, value in facts if value]
    lines += elicitation_lines(prompt.get("elicitation"))
    return "\n".join([*lines, f"Arguments: {_arguments_text(prompt, limit)}"])


def needs_text(credential: dict[str, Any] | None) -> str:
    """Which credential, and where it would be sent."""
    if not credential:
        return ""
    ways = " or ".join(f"{way['name']} ({way['scheme']})" for way in credential["ways"]) or "a credential"
    return f"{ways}, sent to {credential['sentTo']} and nowhere else"


def policies_text(policies: list[str] | None) -> str:
    """Of a source to be added: policies that allow calls in its namespace, and don't apply to it."""
    return f"{'; '.join(policies)} (would match it; none of them applies to it)" if policies else ""


def changed_text(changed: dict[str, Any] | None) -> str:
    """Why a policy that allowed the tool no longer does."""
    if not changed:
        return ""
    parts = [f"{one['at']} {one['what']}: {one['was'] or '-'} → {one['now'] or '-'}" for one in changed["differences"]]
    what = "; ".join(parts) or ("the tool is new" if changed["isNew"] else "how it is sent")
    more = " (and more)" if changed["cut"] else ""
    return f"since the policy {changed['rule']} was created: {what}{more}"


def _arguments_text(prompt: dict[str, Any], limit: int | None) -> str:
    """Laid out over lines; a newline inside a value stays an escape, so nothing can pass for a line of ours."""
    arguments = prompt.get("arguments")
    text = orjson.dumps(arguments, option=orjson.OPT_INDENT_2).decode()
    shown = escape(text, keep="\n")
    shown = shown if limit is None else shorten(shown, limit)
    return f"{shown}\n(cut: {escape(str(prompt['cut']))})" if prompt.get("cut") else shown
