"""Executions that the start log has and the database does not: their process was lost before they were committed."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from pathlib import Path

from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from executor.execution.journal.journal import creation_event
from executor.model.execution import Execution
from executor.storage import start_log
from executor.storage.database import Database
from executor.storage.executions import events, executions

logger = logging.getLogger(__name__)


async def recover(database: Database, log: Path) -> None:
    """They become executions that were left running. Written together, they share commits."""
    started = await asyncio.to_thread(lambda: list(start_log.read(log)))
    writes = [database.write(partial(add_missing, execution=one)) for one in started]
    for execution, failed in zip(started, await asyncio.gather(*writes, return_exceptions=True), strict=True):
        if isinstance(failed, IntegrityError):  # its workspace was removed meanwhile
            logger.warning("an execution was not recovered: its workspace is gone", extra={"execution": execution.id})
        elif failed is not None:
            raise failed
    await asyncio.to_thread(log.unlink, missing_ok=True)


def add_missing(c: Connection, execution: Execution) -> None:
    if executions.get(c, execution.workspace_id, execution.id) is None:
        executions.insert(c, execution)
        events.append_all(c, execution.workspace_id, execution.id, [creation_event(execution)], by=execution)
