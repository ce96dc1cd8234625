"""No query reads or changes rows of a workspace without naming the workspace."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import executor
from executor.storage.tables import access, model_usage, sessions

ROOT = Path(executor.__path__[0])
METADATA = (access.metadata, sessions.metadata, model_usage.metadata)  # one and the same, once all are imported
SCOPED = {table.name for metadata in METADATA for table in metadata.sorted_tables if "workspace_id" in table.c}
MODULES = tuple(f"executor.storage.tables.{name}" for name in ("core", "access", "sessions", "model_usage"))
VERBS = {"select", "update", "delete", "join", "join_from", "select_from", "exists", "stream_of"}
NAMES = (ast.Attribute, ast.Name)
NAMED = re.compile(r"workspace_id\b\)?(?: ==|\.in_)|stream_of\(.*workspace_id\b")
# Queries that name no workspace, by why that is right. A new one must be put here by hand.
SHOWN = "what is shown says which row it is, and the row says which workspace"
JOURNAL = "of an execution that was found in its workspace before; its owner is fenced by the epoch"
FOUND = "of a row that was read with its workspace before"
SESSION = "of a session that was found in its workspace before, by someone who may see it"
PAGED = "of keys that a stream of the workspace gave"
UPKEEP = "the daemon's own upkeep, never an answer to somebody"
REASONS = {
    SHOWN: """
        anonymous:by_cookie anonymous:by_digest browser_sessions:by_digest browser_sessions:use_link
        browser_sessions:link_state
        api_keys:by_digest
        oauth_flows:flow oauth_flows:known_flow oauth_flows:spend_flow oauth_flows:by_browser oauth_flows:bind_flow
        oauth_flows:replace_flow tokens:by_digest tokens:spend
    """,
    "of one account: a human's browsers and agents are theirs in whichever workspace": """
        browser_sessions:close_session browser_sessions:listing sessions:count_of_account
    """,
    "of an organization: the accounts of its members": "browser_sessions:forget_links_of_members",
    "of one account: whether it was ever a member of anything": "external_subjects:was_member",
    JOURNAL: """
        calls:_start calls:_answer calls:close
        executions:_owner executions:_finish executions:_locked executions:_requeue executions:_claim executions:_park
        executions:cancel
        interactions:_settle interactions:_use interactions:_of_execution interactions:supersede interactions:rebind
        interactions:cancel_pending permits:of_execution permits:_denials events:_logged events:_remarks
        events:_said
        executions:_mark executions:_queue events:latest_trace interactions:forget_result
        lane:_lock_all segments:_locked segments:_progress segments:_put_back
        interactions:was_given interactions:_has_elicitation interactions:withdraw_elicitations
    """,
    FOUND: """
        event_chain:_read event_chain:_write
        connections:update connections:set_status connections:raise_revision connections:find_named
        connections:of_source
        connections:touch connections:grant connections:claim_refresh
        connections:finish_refresh connections:release_refresh connections:reseal_grant
        oauth_flows:reseal_client secrets:replace_value secrets:reseal secrets:touch
        sources:rewrite sources:delete sources:by_id tools:next_generation search_segments:_row
        tools:bindings tools:digests tools:_own
        tools:_delete tools:simple_reads tools:raw_paths search_entries:effects files:complete files:remove_some
        interactions:pending_of_session interactions:granted_in_session
        tool_reviews:of_source tool_reviews:pending tool_reviews:count_pending tool_reviews:remove
    """,
    "of a workspace, compared in the way its index is ordered": "usage:_count",
    "of an organization: whether another of its workspaces has such a source": "policies:is_made_for",
    SESSION: """
        messages:unread_notices
        messages:after messages:append messages:before messages:copy messages:get messages:of_kind model_keys:delete
        model_keys:get model_usage:finish model_usage:reserve model_usage:settle
        model_usage:spending sessions:change sessions:delete sessions:page tasks:change tasks:get
        tasks:of_session tokens:revoke
    """,
    PAGED: """
        artifacts:page events:search events:_fitting interactions:page interactions:_fitting interactions:_conditions
        policy_scope:_calls_of
    """,
    UPKEEP: """
        anonymous:count anonymous:listing browser_sessions:forget_links connections:every_grant
        interactions:list_expired interactions:list_eliciting
        executions:newest_ids interactions:count_pending
        segments:_take segments:lock_lost segments:lock_owned
        oauth_flows:insert_flow oauth_flows:every_client oauth_flows:every_flow sources:everywhere sources:list_hosted
        sources:with_commands search_segments:_is_left_over
        secrets:every_sealed tools:unseen files:left_over
        objects:find_movable objects:find_moved_rows objects:find_removable objects:find_any
        secrets/rotation:keys_in_use model_usage:left_open sessions:list_unfinished
        sessions:list_idle_clones tasks:list_unfinished tokens:sweep
        use_limits:everywhere
        server:_identify sqlite_copy:fingerprint sqlite_copy:finish
    """,
}
LISTED = [part for listed in REASONS.values() for part in listed.split()]
KNOWN = {part if "/" in part else f"storage/{part}" for part in LISTED}


def functions() -> Iterator[tuple[str, str, set[str]]]:
    """Each piece of code that queries: its name, its text, and the scoped tables it queries."""
    for path in sorted(ROOT.rglob("*.py")):
        if "migrations" in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        if "sqlalchemy" not in text:
            continue
        module = ast.parse(text)
        tables_here = _tables(module)
        for name, node in _pieces(module):
            if queried := _queried_tables(node, tables_here):
                inside = path.relative_to(ROOT)
                own = f"storage/{path.stem}" if inside.parts[0] == "storage" else inside.as_posix().removesuffix(".py")
                yield (
                    f"{own}:{name}",
                    ast.get_source_segment(text, node) or "",
                    queried,
                )


def _pieces(module: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            yield from (
                (f"{node.name}.{child.name}", child) for child in node.body if isinstance(child, ast.FunctionDef)
            )
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield ast.unparse(target), node


def _tables(module: ast.Module) -> set[str]:
    """The names under which a module knows tables that belong to workspaces."""
    here = [node for node in module.body if isinstance(node, ast.ImportFrom) and node.module in MODULES]
    imported = [alias for node in here for alias in node.names]
    return {alias.asname or alias.name for alias in imported if alias.name in SCOPED}


def _queried_tables(node: ast.AST, known: set[str]) -> set[str]:
    called = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    verbs = {one.attr if isinstance(one, ast.Attribute) else one.id for one in called if isinstance(one, NAMES)}
    if not verbs & VERBS:
        return set()
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} & known


def find_unscoped() -> dict[str, list[str]]:
    return {name: sorted(queried) for name, text, queried in functions() if not NAMED.search(text)}


def test_every_query_of_a_table_that_belongs_to_workspaces_names_the_workspace() -> None:
    assert {name: queried for name, queried in find_unscoped().items() if name not in KNOWN} == {}


def test_every_reason_is_of_a_query_that_is_there() -> None:
    assert set(find_unscoped()) >= KNOWN


def test_there_are_tables_and_queries_to_look_at() -> None:
    assert {"executions", "api_keys", "connections", "secrets", "events", "browser_sessions"} <= SCOPED
    assert sum(1 for _ in functions()) > 80
