from __future__ import annotations

from typing import Any

import click

from executor.settings import Settings
from executor.surfaces.cli.main import COMMANDS
from executor.surfaces.cli.options import json_option


@click.command("check", help=f"{COMMANDS['check']} Runs nothing; exits with 1 if the code would not run.")
@click.argument("code", required=False)
@click.option("--file", "file", metavar="PATH", help="Read the code from this file.")
@click.option("--stdin", is_flag=True, help="Read the code from standard input.")
@click.option("--language", help="typescript or python. Default: detected from the file's name or the code.")
@json_option
def command(code: str | None, file: str | None, stdin: bool, language: str | None, as_json: bool) -> int:
    from executor.model.language import is_python
    from executor.surfaces.cli import exit_codes
    from executor.surfaces.cli.client import connect
    from executor.surfaces.cli.output import emit, emit_json, say
    from executor.surfaces.cli.prompts.code_input import language_of, read_code

    settings = Settings.load()
    text = read_code(code, file, stdin, settings.max_code_bytes)
    recognised = "python" if is_python(text) else "typescript"
    request = {"code": text, "language": language_of(file, language) or recognised}
    found: dict[str, Any] = connect(settings).post("/v1/catalog/check", request)
    if as_json:
        emit_json(found)
    else:
        for one in found["diagnostics"]:
            emit(line_of(one, file))
        if found["unavailable"]:
            say(f"not checked: {found['unavailable']}")
        elif not found["diagnostics"]:
            say("no problems found")
    return exit_codes.COMPLETED if found["ok"] else exit_codes.FAILED


def line_of(one: dict[str, Any], file: str | None) -> str:
    from executor.surfaces.cli.output import clean, clean_lines, quote_remote

    where = f"{clean(file)}:" if file else ""
    lines = [
        f"{where}{one['line']}:{one['column']}: {one['severity']}: "
        f"{quote_remote(one['message'])} [{clean(one['code'])}]"
    ]
    lines += [f"    {line}" for line in clean_lines(one.get("signature") or "").splitlines()]
    lines += [f"    hint: {quote_remote(one['hint'])}"] if one.get("hint") else []
    return "\n".join(lines)
