"""The code of a `call`, from wherever it comes, checked before anything is started for it."""

from __future__ import annotations

import sys
from pathlib import Path

from executor.errors import CodeTooLarge, EmptyCode, InvalidRequest

LANGUAGES = {".ts": "typescript", ".mts": "typescript", ".js": "typescript", ".mjs": "typescript", ".py": "python"}


def read_code(inline: str | None, file: str | None, stdin: bool, limit: int) -> str:
    given = [name for name, here in (("CODE", inline is not None), ("--file", file), ("--stdin", stdin)) if here]
    if len(given) != 1:
        got = f"got {' and '.join(given)}" if given else "got none of them"
        raise InvalidRequest(
            f"pass the code as an argument, with --file or with --stdin: {got}",
            hint="try `executor call 'return 1 + 1'`",
        )
    if inline is not None:
        code = inline
        size = len(_encode(code))
    else:
        data = _from_file(file, limit) if file else sys.stdin.buffer.read(limit + 1)
        size = len(data)
        code = _decode(data, file or "standard input")
    if size > limit:
        raise too_large(f"more than {limit:,} bytes" if stdin else f"{size:,} bytes", limit)
    if not code.strip():
        raise EmptyCode("the code is empty", hint=("pass code that returns something: `executor call 'return 1 + 1'`"))
    return code


def language_of(file: str | None, language: str | None) -> str | None:
    return language or (LANGUAGES.get(Path(file).suffix.lower()) if file else None)


def too_large(size: str, limit: int) -> CodeTooLarge:
    return CodeTooLarge(
        f"the code has {size}; the limit is {limit:,} bytes",
        hint=(
            "pass data through tools instead of writing it into the code; the setting EXECUTOR_MAX_CODE_BYTES "
            "is the limit"
        ),
    )


def _from_file(file: str, limit: int) -> bytes:
    path = Path(file)
    try:
        size = path.stat().st_size
        if size > limit:
            raise too_large(f"{size:,} bytes", limit)
        with path.open("rb") as opened:
            return opened.read(limit + 1)
    except OSError as error:
        raise InvalidRequest(
            f"the file {file} can't be read: {error.strerror}", hint="check the path you passed with --file"
        ) from error


def _encode(code: str) -> bytes:
    try:
        return code.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            f"the code is not UTF-8: character {error.start + 1} can't be read", hint="put the code into a UTF-8 file"
        ) from error


def _decode(data: bytes, where: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return data.decode("utf-8-sig", "ignore")  # cut in the middle of a character: it is too large anyway
        raise InvalidRequest(
            f"{where} is not UTF-8: byte {error.start + 1} can't be decoded", hint="save the code as UTF-8"
        ) from error
