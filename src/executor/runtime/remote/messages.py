"""What daemon and sandbox host say to each other, as JSON. Steps travel as the lines that every reader here checks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import orjson

from executor.errors import InvalidRequest
from executor.model.execution import Limits
from executor.runtime.protocol import Answer, Program, Step
from executor.runtime.worker.steps import LEVELS

_LIMITS = frozenset(Limits.__dataclass_fields__)


def encode_lines(step: Step) -> str:
    """One line an item; the other side reads them as it reads those of its own workers."""
    lines: list[str] = []
    for proposal in step.proposals:
        if proposal.kind == "timer":
            lines.append(f"t{proposal.seq} {proposal.arguments}")
        else:
            lines += [f"c{proposal.seq} {_quote(proposal.path)}", _one_line(proposal.arguments)]
    lines += [f"l{LEVELS.index(log.level)}{_quote(log.text)}" for log in step.logs]
    if step.failure is not None:
        failure = step.failure
        fields = {"code": failure.code, "message": failure.message, "hint": failure.hint, "details": failure.details}
        lines.append("f" + orjson.dumps(fields, default=str).decode())
    elif step.value is not None:
        lines.append("v" + _one_line(step.value))
    return "".join(f"{line}\n" for line in lines)


def _quote(text: str) -> str:
    return orjson.dumps(text.encode("utf-8", "replace").decode()).decode()


def _one_line(json_text: str) -> str:
    return orjson.dumps(orjson.loads(json_text)).decode() if "\n" in json_text else json_text


def encode_step(number: int, step: Step) -> dict[str, Any]:
    return {"number": number, "cpuUs": int(step.cpu_ms * 1000), "output": encode_lines(step)}


def encode_program(program: Program) -> dict[str, Any]:
    return {
        "code": program.code,
        "seed": program.seed.hex(),
        "clockMs": program.clock_ms,
        "limits": asdict(program.limits),
        "language": program.language,
    }


def decode_program(given: Any) -> Program:
    try:
        limits = {name: int(value) for name, value in given["limits"].items() if name in _LIMITS}
        seed = bytes.fromhex(given["seed"])
        if len(seed) != 16 or not isinstance(given["code"], str):
            raise ValueError("seed or code")
        return Program(given["code"], seed, int(given["clockMs"]), Limits(**limits), str(given["language"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidRequest(f"this is not a program: {error}", hint="use the same version on both sides") from error


def encode_answer(number: int, answer: Answer) -> dict[str, Any]:
    return {
        "number": number,
        "seq": answer.seq,
        "clockMs": answer.clock_ms,
        "value": answer.value,
        "error": answer.error,
    }


def decode_answer(given: Any) -> tuple[int, Answer]:
    try:
        number, seq, clock_ms = int(given["number"]), int(given["seq"]), int(given["clockMs"])
        value, error = given.get("value"), given.get("error")
        if (value is None) == (error is None) or not isinstance(value or error or "", str):
            raise ValueError("neither value nor error")
        return number, Answer(seq, clock_ms, value, error)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise InvalidRequest(
            f"this is not an answer: {problem}", hint="use the same version on both sides"
        ) from problem


def loads(body: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"the body is not JSON: {error}", hint="use the same version on both sides") from error
    if not isinstance(value, dict):
        raise InvalidRequest("the body is not a JSON object", hint="use the same version on both sides")
    return value
