"""Where the object store is, and the credentials for it. Neither is ever said by a member or an agent."""

from __future__ import annotations

import configparser
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from executor.dataclass import dataclass
from executor.errors import ArtifactUnavailable

if TYPE_CHECKING:
    from obstore.store import S3Credential

HINT = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or artifacts_credentials_file"
FRESH = timedelta(minutes=5)  # then the credentials are taken from their file once more
FIELDS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")


@dataclass(frozen=True, slots=True)
class Location:
    """One database has the whole prefix to itself."""

    bucket: str
    prefix: str
    endpoint: str = ""
    region: str = ""

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}" + (f" at {self.endpoint}" if self.endpoint else "")


def parse_location(url: str) -> Location:
    """Of a setting that was checked before."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    return Location(parts.netloc, parts.path.strip("/"), options.get("endpoint", ""), options.get("region", ""))


def credentials_file(chosen: Path | None, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The chosen one; else that of the AWS tools, unless variables have the credentials."""
    if chosen is not None or "AWS_ACCESS_KEY_ID" in environ:
        return chosen
    usual = Path(environ.get("AWS_SHARED_CREDENTIALS_FILE") or "~/.aws/credentials").expanduser()
    return usual if usual.is_file() else None


def provide_credentials(file: Path) -> Callable[[], S3Credential]:
    """From the file every few minutes, so that credentials can be replaced while Executor runs."""

    def provide() -> S3Credential:
        key_id, secret, token = read_credentials(file, profile_of(os.environ))
        found: S3Credential = {"access_key_id": key_id, "secret_access_key": secret, "token": token or None,
                               "expires_at": datetime.now(UTC) + FRESH}  # fmt: skip
        return found

    return provide


def check_credentials(chosen: Path | None) -> None:
    """Raises ArtifactUnavailable for a file that can't be used. Without one, others may provide them."""
    if (file := credentials_file(chosen)) is not None:
        read_credentials(file, profile_of(os.environ))


def profile_of(environ: Mapping[str, str]) -> str:
    return environ.get("AWS_PROFILE") or "default"


def read_credentials(file: Path, profile: str) -> tuple[str, str, str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(file.read_text(encoding="utf-8"))
        section = parser[profile]
    except (OSError, UnicodeDecodeError) as error:
        raise ArtifactUnavailable(f"the credentials file {file} can't be read", hint=HINT) from error
    except (configparser.Error, KeyError):  # whose text may have a part of the secret
        message = f"the credentials file {file} has no readable section [{profile}]"
        raise ArtifactUnavailable(message, hint=HINT) from None
    key_id, secret, token = (section.get(name, "").strip() for name in FIELDS)
    if not key_id or not secret:
        message = f"[{profile}] in {file} has no aws_access_key_id or no aws_secret_access_key"
        raise ArtifactUnavailable(message, hint=HINT)
    return key_id, secret, token
