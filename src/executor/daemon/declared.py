"""The configuration that the daemon applies when it starts: `EXECUTOR_TOOL_SOURCES`, and a file of its operator.

It is never looked for in the current directory: that may be a repository of other people.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from executor.settings import Settings
from executor.storage.identity.tenancy import Tenancy

if TYPE_CHECKING:
    from executor.execution.configuration.application import Configuration
    from executor.execution.configuration.document import Document

NAMES = ("executor.toml", "executor.yaml", "executor.yml")
logger = logging.getLogger(__name__)


def find_files(settings: Settings) -> list[Path]:
    """The one that is set, or those beside the config file."""
    if settings.declared_file is not None:
        return [settings.declared_file]
    return [file for name in NAMES if (file := settings.config_file.parent / name).is_file()]


def is_given(settings: Settings) -> bool:
    return bool(settings.tool_sources) or bool(find_files(settings))


def read_declared(settings: Settings) -> tuple[Document, Path | None]:
    """With the folder in which its relative paths begin."""
    from executor.execution.configuration.document import Document, Problem, read_variable

    files = find_files(settings)
    document = read_safely(files[0]) if files else Document()
    if len(files) > 1:
        ignored = Problem(str(files[1]), f"it is ignored, because {files[0].name} is there too", "keep one of them")
        document += Document(problems=(ignored,))
    if settings.tool_sources:
        document += read_variable(settings.tool_sources)
    return document, files[0].parent if files else None


def read_safely(file: Path) -> Document:
    """What others can write decides nothing here, since it may run commands as the daemon's user."""
    from executor.execution.configuration.document import read_file, refuse_document

    try:
        with file.open("rb") as opened:
            found = os.fstat(opened.fileno())
            if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or found.st_uid not in (0, os.getuid()):
                return refuse_document(str(file), "others can write it", f"make it yours alone: chmod go-w {file}")
            text = opened.read().decode()
    except OSError as error:
        return refuse_document(str(file), f"it can't be read: {error.strerror}", "check its path and permissions")
    except UnicodeDecodeError:
        return refuse_document(str(file), "it is not UTF-8", "save it as UTF-8")
    return read_file(text, str(file))


async def apply_at_start(configuration: Configuration, settings: Settings, tenancy: Tenancy) -> None:
    """Behind everything else. Nothing that is wrong here stops the daemon, and nothing is removed."""
    from executor.execution.configuration.application import Terms

    try:
        document, folder = await asyncio.to_thread(read_declared, settings)
        operator = replace(tenancy.operator, via="internal")
        applied = await configuration.apply(document, Terms(operator, consent=True, folder=folder))
        if (await asyncio.to_thread(read_declared, settings))[0] != document:
            logger.warning("the configuration changed while it was applied; apply it again: `executor config apply`")
    except Exception:
        logger.exception("the configuration was not applied")
        return
    for problem in applied.problems:
        logger.warning("configuration: %s: %s. %s", problem.place, problem.message, problem.hint)
    for one in applied.outcomes:
        if one.error:
            logger.warning("configuration: %s: %s. %s", one.change.place, one.error, one.hint)
        elif one.change.is_due:
            logger.info("configuration: %s %s %s", one.change.action, one.change.noun, one.change.name)
