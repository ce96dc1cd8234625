"""An execution of an older database keeps what ran it, and its calls."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy.engine import Engine

from executor.storage import migrate
from executor.storage.executions import calls, executions

ROWS = (
    "INSERT INTO organizations VALUES ('org_1', 'o', 1)",
    "INSERT INTO workspaces VALUES ('ws_1', 'org_1', 'w', 0, 0, 1)",
    "INSERT INTO actors (id, workspace_id, kind, name, created_at) VALUES ('act_1', 'ws_1', 'agent', 'a', 1)",
    "INSERT INTO executions (id, workspace_id, actor_id, language, code, status, seed, clock_ms, limits, epoch,"
    " wall_ms, created_at, updated_at) VALUES ('exec_1', 'ws_1', 'act_1', 'typescript', 'return 1', 'paused', :seed,"
    " 1, '{}', 0, 0, 1, 1)",
    "INSERT INTO calls (execution_id, seq, workspace_id, kind, path, arguments, arguments_digest, state, effect,"
    " source_id, schema_digest, created_at) VALUES ('exec_1', 1, 'ws_1', 'tool', 'a.b', '{}', 'd', 'proposed', 'read',"
    " '', '', 1)",
)


def test_an_execution_of_an_older_database_is_run_by_the_runtime_of_its_language(engine: Engine) -> None:
    with engine.connect().execution_options(writes=True) as c, c.begin():
        config = Config()
        config.set_main_option("script_location", str(migrate.MIGRATIONS))
        config.attributes["connection"] = c
        command.upgrade(config, "0002")
        for row in ROWS:
            c.execute(sa.text(row), {"seed": b"\0"} if ":seed" in row else {})
    assert migrate.migrate(engine) is True
    with engine.connect() as c:
        execution = executions.get(c, "ws_1", "exec_1")
        assert execution is not None and (execution.language, execution.runtime) == ("typescript", "typescript")
        assert (execution.client_id, execution.client_name) == ("", "")
        assert [call.path for call in calls.of_execution(c, "ws_1", "exec_1")] == ["a.b"]
