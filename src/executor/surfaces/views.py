"""What the surfaces show of the nouns: plain JSON values in camelCase, the same for the API and for MCP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

from executor.model.artifact import Artifact
from executor.model.digest import digest
from executor.model.event import Event
from executor.model.execution import Call, Execution
from executor.model.interaction import Interaction
from executor.model.policy import MadeFor, Policy
from executor.model.source import Choice, Source, choice_of, hosted_as
from executor.surfaces.escape import escape, shorten

if TYPE_CHECKING:
    from executor.execution.outcome import Outcome
    from executor.model.execution import CallHead
    from executor.sources.kind import Probe
    from executor.sources.lifecycle.persistence import Refreshed

View = dict[str, Any]
Read = Callable[[str], Any]
PROMPT_ARGUMENTS = 100_000
PAGES = {"credential": "connect", "oauth": "connect"}


def fragment(text: str) -> Any:
    """JSON text put into an answer as it is, without reading it."""
    return orjson.Fragment(text)


def time(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def execution_view(outcome: Outcome, base_url: str, *, read: Read = fragment, whole: bool = True) -> View:
    """`read` decides what becomes of JSON text: a fragment for bytes on a wire, `orjson.loads` for a value.

    Not `whole`: of a large result, which is kept as `artifact`, the preview is told.
    """
    execution, kept = outcome.execution, outcome.artifact
    result = None if execution.result is None or (kept and not whole) else read(execution.result)
    return {
        "executionId": execution.id,
        "status": execution.status,
        "language": execution.language,
        "runtime": execution.runtime,
        "result": _preview(kept).get("value") if kept and not whole else result,
        "artifact": artifact_view(kept) if kept else None,
        "error": execution.failure.to_dict() if execution.failure else None,
        "interactions": [interaction_view(interaction, base_url) for interaction in outcome.interactions],
        "logs": [{"level": line.level, "text": line.text, "at": time(line.at)} for line in outcome.logs],
        "diagnostics": list(outcome.diagnostics),
        "createdAt": time(execution.created_at),
        "finishedAt": time(execution.finished_at),
    }


def execution_summary(execution: Execution, actor: str = "", calls: int = 0) -> View:
    return {
        "executionId": execution.id,
        "status": execution.status,
        "language": execution.language,
        "runtime": execution.runtime,
        "error": execution.failure.to_dict() if execution.failure else None,
        "preview": shorten(escape(" ".join(execution.code[:400].split())), 120),
        "calls": calls,
        **submitted_by(execution, actor),
        "createdAt": time(execution.created_at),
        "updatedAt": time(execution.updated_at),
        "finishedAt": time(execution.finished_at),
    }


def submitted_by(execution: Execution, actor: str) -> View:
    return {"actorId": execution.actor_id, "actor": actor or None, "through": through(execution.origin)}


def through(origin: str) -> str | None:
    """The surface that the credential is made for; any other program that holds it looks the same."""
    words = origin.split()
    if not words:
        return None
    return "mcp" if words[-1] == "mcp" else {"operator_token": "cli", "browser": "web"}.get(words[0], "api")


def artifact_view(artifact: Artifact, *, preview: bool = False) -> View:
    """`cut` tells what its preview leaves out; the preview itself only if asked for."""
    shown = _preview(artifact)
    return {
        "id": artifact.id,
        "executionId": artifact.execution_id,
        "call": artifact.call_seq or None,
        "name": artifact.name,
        "mediaType": artifact.media_type,
        "size": artifact.size,
        "digest": artifact.digest,
        "cut": shown.get("cut", []),
        "uncounted": shown.get("more", 0),
        "preview": shown.get("value") if preview else None,
        "createdAt": time(artifact.created_at),
        "deletedAt": time(artifact.deleted_at),
    }


def _preview(artifact: Artifact) -> View:
    shown: View = orjson.loads(artifact.preview or "{}")
    return shown


def call_view(call: Call, *, read: Read = fragment, kept: Artifact | None = None) -> View:
    """`kept` is where a large result is; without the result itself, the preview is told."""
    result = None if call.result is None else read(call.result)
    return {
        "seq": call.seq,
        "kind": call.kind,
        "path": call.path,
        "arguments": read(call.arguments) if call.arguments else None,
        "state": call.state,
        "effect": call.effect,
        "schemaDigest": call.schema_digest or None,
        "result": _preview(kept).get("value") if kept and call.result is None else result,
        "artifact": artifact_view(kept) if kept else None,
        "error": call.failure,
        "createdAt": time(call.created_at),
        "startedAt": time(call.started_at),
        "finishedAt": time(call.done_ms),
    }


def call_head(head: CallHead) -> View:
    """A call among many: how it went, without what was sent and answered."""
    view = call_view(head.call, read=str)
    preview = shorten(escape(view.pop("arguments") or ""), 120)
    del view["result"]
    if view["error"]:
        view["error"] = {name: view["error"].get(name, "") for name in ("code", "message", "hint")}
    return {**view, "preview": preview, "argumentsDigest": head.call.arguments_digest, "resultSize": head.size}


def interaction_view(interaction: Interaction, base_url: str, *, whole: bool = False) -> View:
    """Among others, long arguments are cut, and it says so; `whole` shows all of them."""
    prompt = interaction.prompt
    return {
        "id": interaction.id,
        "executionId": interaction.execution_id,
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
        "decisionReason": interaction.reason,
        "scope": interaction.scope or None,
        "settledBy": interaction.settled_by or None,
        "settledFrom": interaction.settled_from or None,
        "binding": digest(asdict(interaction.binding)),
        "url": f"{base_url}/{PAGES.get(interaction.kind, 'approvals')}/{interaction.id}",
        "prompt": prompt_text(interaction, None if whole else PROMPT_ARGUMENTS),
        "credential": prompt.get("credential"),
        "createdAt": time(interaction.created_at),
        "expiresAt": time(interaction.expires_at),
        "settledAt": time(interaction.settled_at),
    }


def prompt_text(interaction: Interaction, limit: int | None = PROMPT_ARGUMENTS) -> str:
    """The question as a person reads it. Any value in it may come from a stranger, so every value is escaped."""
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
        ("Rules", rules_text(prompt.get("rules"))),
        ("Changed", changed_text(prompt.get("changed"))),
        ("Suggestion", prompt.get("suggestion")),
        ("Why asked", prompt.get("reason")),
        ("Execution", interaction.execution_id),
    ]
    lines = [escape(str(prompt.get("question", "")))]
    lines += [f"{name + ':':<12}{escape(str(value))}" for name, value in facts if value]
    return "\n".join([*lines, f"Arguments: {_arguments_text(prompt, limit)}"])


def needs_text(credential: dict[str, Any] | None) -> str:
    """Which credential, and where it would be sent."""
    if not credential:
        return ""
    ways = " or ".join(f"{way['name']} ({way['scheme']})" for way in credential["ways"]) or "a credential"
    return f"{ways}, sent to {credential['sentTo']} and nowhere else"


def rules_text(rules: list[str] | None) -> str:
    """Of a source to be added: rules that allow calls in its namespace, and don't hold for it."""
    return f"{'; '.join(rules)} (would cover it; none of them will hold for it)" if rules else ""


def changed_text(changed: dict[str, Any] | None) -> str:
    """Why a rule that allowed the tool no longer does."""
    if not changed:
        return ""
    parts = [f"{one['at']} {one['what']}: {one['was'] or '-'} → {one['now'] or '-'}" for one in changed["differences"]]
    what = "; ".join(parts) or ("it is new" if changed["isNew"] else "how it is sent")
    more = " (and more)" if changed["cut"] else ""
    return f"since the rule {changed['rule']} was made: {what}{more}"


def _arguments_text(prompt: dict[str, Any], limit: int | None) -> str:
    """Laid out over lines; a newline inside a value stays an escape, so nothing can pass for a line of ours."""
    arguments = prompt.get("arguments")
    text = orjson.dumps(arguments, option=orjson.OPT_INDENT_2).decode()
    shown = escape(text, keep="\n")
    shown = shown if limit is None else shorten(shown, limit)
    return f"{shown}\n(cut: {escape(str(prompt['cut']))})" if prompt.get("cut") else shown


def event_view(event: Event) -> View:
    return {
        "id": event.id,
        "type": event.type,
        "at": time(event.at),
        "executionId": event.execution_id or None,
        "data": event.data,
    }


def audit_view(event: Event, actor: str = "") -> View:
    """An event with everything that is known of who brought it about."""
    return {
        **event_view(event),
        "actorId": event.actor_id or None,
        "actor": actor or None,
        "origin": event.origin or None,
        "seal": event.seal or None,
    }


def policy_view(policy: Policy) -> View:
    return {
        "id": policy.id or None,
        "level": policy.level,
        "position": policy.position,
        "pattern": policy.pattern,
        "action": policy.action,
        "conditions": [asdict(one) for one in policy.conditions],
        "actorId": policy.actor_id or None,
        "sourceId": policy.source_id or None,
        "effect": policy.effect or None,
        "note": policy.note,
        "createdBy": policy.created_by or None,
        "createdAt": time(policy.created_at or None),
        "madeFor": made_for_view(policy.made_for),
        "excluded": list(policy.excluded),
        "retiredAt": time(policy.retired_at),
    }


def made_for_view(made_for: MadeFor | None) -> View | None:
    if made_for is None:
        return None
    return {"host": made_for.host, "tools": len(made_for.digests), "basis": made_for.basis}


def source_view(source: Source, *, secrets: bool = False) -> View:
    """Arguments of a command may be secrets: without `secrets` only its first word is told."""
    return {
        "id": source.id,
        "kind": source.kind,
        "namespace": source.namespace,
        "name": source.name,
        "status": source.status,
        "error": source.error or None,
        "location": source.config.get("location") or None,
        "command": list((source.config.get("command") or ())[: None if secrets else 1]) or None,
        "baseUrl": source.config.get("base_url") or None,
        "transport": source.config.get("transport") or None,
        "hosted": hosted_as(source) or None,
        "headers": header_names(source.config),
        "auth": [auth_view(one) for one in source.config.get("auth") or ()],
        "toolCount": source.tool_count,
        "choice": choice_view(choice_of(source.config)),
        "skipped": [{"where": skipped.where, "reason": skipped.reason} for skipped in source.skipped],
        "createdAt": time(source.created_at),
        "refreshedAt": time(source.refreshed_at),
    }


def choice_view(choice: Choice) -> View | None:
    """None where all of its tools are there."""
    lists = {"include": list(choice.include), "exclude": list(choice.exclude)}
    return {**lists, "offered": choice.offered} if choice else None


def header_names(config: dict[str, Any]) -> list[str]:
    """Their values are secrets: nothing shows them."""
    headers = config.get("headers") or {}
    return sorted(str(one if isinstance(one, str) else one[0]) for one in headers)


def auth_view(auth: Any) -> View:
    """`auth` is a mapping in a stored config, and an `Auth` in the answer to a probe."""
    read = auth.get if isinstance(auth, dict) else lambda name, default="": getattr(auth, name, default)
    return {"name": read("name", ""), "type": read("type", "unknown"), "description": read("description", "")}


def probe_view(probe: Probe) -> View:
    return {
        "kind": probe.kind,
        "location": probe.location or None,
        "name": probe.name or None,
        "namespace": probe.namespace or None,
        "baseUrl": probe.base_url or None,
        "transport": probe.transport or None,
        "auth": [auth_view(one) for one in probe.auth],
        "note": probe.note or None,
    }


def refreshed_view(refreshed: Refreshed) -> View:
    """The source, and what reading it again changed."""
    differences = refreshed.differences
    return {
        **source_view(refreshed.source, secrets=True),
        "unchanged": refreshed.unchanged,
        "added": list(differences.added),
        "removed": list(differences.removed),
        "changed": list(differences.changed),
    }
