"""An older database may have two of what there is only one of now, and interactions without numbers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy.engine import Engine

from executor.storage import migrate

ROWS = (
    "INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'o', 1)",
    "INSERT INTO workspaces (id, organization_id, name, policy_revision, catalog_revision, created_at) VALUES"
    " ('ws_1', 'org_1', 'team', 0, 0, 1), ('ws_2', 'org_1', 'team', 0, 0, 2), ('ws_3', 'org_1', 'own', 0, 0, 3)",
    "INSERT INTO accounts (id, name, created_at, issuer, subject) VALUES ('acc_1', 'Ada', 1, 'https://id', 'ada'),"
    " ('acc_2', 'Ada', 2, 'https://id', 'ada'), ('acc_3', 'local', 3, '', ''), ('acc_4', 'local', 3, '', '')",
    "INSERT INTO actors (id, workspace_id, account_id, kind, name, created_at, issuer, subject) VALUES"
    " ('act_1', 'ws_1', 'acc_1', 'human', 'Ada', 1, '', ''), ('act_2', 'ws_1', 'acc_1', 'human', 'Ada', 2, '', ''),"
    " ('act_3', 'ws_1', NULL, 'agent', 'bot', 3, '', ''), ('act_4', 'ws_1', NULL, 'agent', 'bot', 4, '', '')",
    "INSERT INTO executions (id, workspace_id, actor_id, language, code, status, seed, clock_ms, limits, epoch,"
    " wall_ms, created_at, updated_at)"
    " VALUES ('exec_1', 'ws_1', 'act_1', 'typescript', '1', 'paused', :seed, 1, '{}', 0, 0, 1, 1)",
    "INSERT INTO interactions (id, workspace_id, execution_id, call_seq, kind, status, binding, prompt, created_at,"
    " expires_at, settled_by, reason, used) VALUES"
    " ('int_b', 'ws_1', 'exec_1', 1, 'approval', 'superseded', '{}', '{}', 5, 9, '', '', false),"
    " ('int_a', 'ws_1', 'exec_1', 1, 'approval', 'pending', '{}', '{}', 6, 9, '', '', false)",
)


def test_of_several_alike_the_oldest_stays_what_it_is(engine: Engine) -> None:
    with engine.connect().execution_options(writes=True) as c, c.begin():
        config = Config()
        config.set_main_option("script_location", str(migrate.MIGRATIONS))
        config.attributes["connection"] = c
        command.upgrade(config, "0022")
        for row in ROWS:
            c.execute(sa.text(row), {"seed": b"\0"} if ":seed" in row else {})
    assert migrate.migrate(engine) is True
    with engine.connect() as c:

        def read(query: str) -> list[tuple[object, ...]]:
            return [tuple(row) for row in c.exec_driver_sql(query)]

        assert read("SELECT name FROM workspaces ORDER BY id") == [("team",), ("team ws_2",), ("own",)]
        assert read("SELECT subject FROM accounts ORDER BY id") == [("ada",), ("",), ("",), ("",)]
        assert read("SELECT account_id FROM actors ORDER BY id") == [("acc_1",), (None,), (None,), (None,)]
        assert read("SELECT id FROM interactions ORDER BY number") == [("int_b",), ("int_a",)]
