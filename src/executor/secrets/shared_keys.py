"""Master keys that every process of a cluster is given: a file, one key a line, or a variable with commas between."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from executor.errors import SecretUnavailable
from executor.secrets.master import Master, decode_key
from executor.secrets.master_keys import GivenKeys

VARIABLE = "EXECUTOR_MASTER_KEYS"
LONGEST = 65_536
CREATE = "create one with `openssl rand -base64 32`"


def read_shared_keys(file: Path | None, environ: Mapping[str, str] = os.environ) -> GivenKeys:
    """The newest first."""
    place = str(file) if file else VARIABLE
    lines = read_lines(file) if file else environ.get(VARIABLE, "").split(",")
    masters = [Master.of(decode_key(Path(place), line.encode())) for line in map(str.strip, lines) if line]
    if not masters:
        raise SecretUnavailable(f"there is no master key in {place}", hint=f"{CREATE}, the same for every process")
    return GivenKeys(masters, place)


def read_lines(file: Path) -> list[str]:
    """It may be a link and belong to another user, as files that a container is given do; others must not read it."""
    try:
        with file.open("rb") as opened:
            if stat.S_IMODE(os.fstat(opened.fileno()).st_mode) & 0o007:
                raise SecretUnavailable(
                    f"{file} is readable by every user of this machine",
                    hint="remove their permission with `chmod o=`, and use new keys",
                )
            return opened.read(LONGEST).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        hint = "check the setting secrets_key_file"
        raise SecretUnavailable(f"the master keys can't be read from {file}", hint=hint) from error
