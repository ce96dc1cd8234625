"""A database of the first schema keeps its tools."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy.engine import Engine

from executor.storage import migrate
from executor.storage.catalog import tool_versions, tools

SOURCE = (
    "INSERT INTO sources (id, workspace_id, kind, namespace, name, config, status, document_digest, error, tool_count,"
    " skipped, created_at, refreshed_at) VALUES ('src_1', 'ws_1', 'openapi', 'pets', 'Pets', '{}', 'connected', 'd',"
    " '', 1, '[]', 1, 1)"
)
TOOL = sa.text(
    "INSERT INTO tools (source_id, path, workspace_id, description, effect, tags, deprecated, idempotent, input_schema,"
    " output_schema, binding, schema_digest) VALUES ('src_1', 'pets.list', 'ws_1', 'Lists', 'read', '[\"t\"]', false,"
    " false, '{}', :output, '{\"method\": \"GET\"}', 'digest')"
)


def test_the_tools_of_an_older_database_are_still_there_after_the_upgrade(engine: Engine) -> None:
    with engine.connect().execution_options(writes=True) as c, c.begin():
        config = Config()
        config.set_main_option("script_location", str(migrate.MIGRATIONS))
        config.attributes["connection"] = c
        command.upgrade(config, "0001")
        c.exec_driver_sql("INSERT INTO organizations VALUES ('org_1', 'o', 1)")
        c.exec_driver_sql("INSERT INTO workspaces VALUES ('ws_1', 'org_1', 'w', 0, 0, 1)")
        c.exec_driver_sql(SOURCE)
        c.execute(TOOL, {"output": json.dumps({"$ref": "#/$defs/Pet"})})
        pet = json.dumps({"type": "object", "properties": {"friend": {"$ref": "#/$defs/Pet"}}})
        c.execute(sa.text("INSERT INTO definitions VALUES ('src_1', 'Pet', 'ws_1', :schema)"), {"schema": pet})
    assert migrate.migrate(engine) is True
    with engine.connect() as c:
        tool = tools.get(c, "ws_1", "pets.list")
        assert tool is not None and (tool.effect, tool.tags, tool.schema_digest) == ("read", ("t",), "digest")
        [pet_version] = tool_versions.definitions(c, "ws_1", tool_versions.links(c, "ws_1", "digest").values())
        assert pet_version.name == "Pet" and pet_version.links.keys() == {"Pet"}
        assert tools.count(c, "ws_1") == 1
