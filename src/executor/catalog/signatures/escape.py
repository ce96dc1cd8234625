"""Text from documents made fit for signatures: it can't end a comment, a string or a line."""

from __future__ import annotations

import json
import re
import unicodedata

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)(?<!\bcf\.)(?<!\bNo\.)\s")
# Markdown: `[text](address)`, `[text][name]`. An address may have one pair of parentheses in it.
_LINK = re.compile(r"!?\[([^\[\]]{0,500})\](?:\([^()]{0,2000}(?:\([^()]{0,500}\)[^()]{0,500})?\)|\[[^\[\]]{0,200}\])")
# One that was cut off before its end.
_CUT_LINK = re.compile(r"!?\[([^\[\]]{1,500})\]\([^()\s]{0,2000}\Z")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+([^\n]*?)[ \t#]*(?:\n|\Z)", re.MULTILINE)
_FENCE = re.compile(r"```[^`]{0,2000}(?:```|\Z)")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)([^*_\n]{1,300}?)(?<=\S)\1")
_MARKUP = re.compile(r"</?(?:a|b|br|code|div|em|h[1-6]|i|li|ol|p|pre|span|strong|ul)(?:\s[^<>]*)?/?>", re.IGNORECASE)


def is_printable(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def one_line(text: str) -> str:
    if text.isascii():  # most is, and asking for each character's category takes long
        return " ".join(_CONTROL.sub(" ", text).split())
    return " ".join("".join(c if is_printable(c) else " " for c in text).split())


def plain_text(text: str) -> str:
    """One line without the markup of Markdown and of web pages, in which documents are written."""
    if "](" in text or "][" in text:
        text = _CUT_LINK.sub(r"\1", _LINK.sub(r"\1", text))
    text = _MARKUP.sub(" ", text) if "<" in text else text
    if "#" in text or "```" in text:
        text = _HEADING.sub(_end_heading, _FENCE.sub(" ", text))
    return one_line(_EMPHASIS.sub(r"\2", text) if "**" in text or "__" in text else text)


def _end_heading(match: re.Match[str]) -> str:
    """A heading is no part of the sentence after it."""
    said = match[1].strip()
    return f"{said}{'' if said[-1:] in '.:!?' else '.'}\n" if said else "\n"


def first_sentence(text: str, limit: int) -> str:
    sentence = _SENTENCE.split(plain_text(text[: limit * 20]), maxsplit=1)[0]
    return sentence if len(sentence) <= limit else sentence[: limit - 1].rsplit(" ", 1)[0] + "…"


def comment(text: str, limit: int) -> str:
    """Safe inside `/* … */` and after `//`."""
    return first_sentence(text, limit).replace("*/", "* /").replace("/*", "/ *").replace("`", "'")


def literal(value: object) -> str:
    """A JSON literal, which is a TypeScript literal, with everything invisible escaped."""
    written = json.dumps(value, ensure_ascii=False)
    if written.isascii() and written.isprintable():
        return written
    return "".join(c if is_printable(c) else escape_character(c) for c in written)


def escape_character(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))


def key(name: str) -> str:
    return name if _IDENTIFIER.match(name) else literal(name)
