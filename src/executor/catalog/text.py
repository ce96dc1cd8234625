"""Text from documents made fit for signatures: it can't end a comment, a string or a line."""

from __future__ import annotations

import json
import re
import unicodedata

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)\s")
# Markdown: `[text](address)`, `[text][name]`. An address may have one pair of parentheses in it.
_LINK = re.compile(r"!?\[([^\[\]]{0,500})\](?:\([^()]{0,2000}(?:\([^()]{0,500}\)[^()]{0,500})?\)|\[[^\[\]]{0,200}\])")
_MARKUP = re.compile(r"</?(?:a|b|br|code|div|em|h[1-6]|i|li|ol|p|pre|span|strong|ul)(?:\s[^<>]*)?/?>", re.IGNORECASE)


def is_printable(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def one_line(text: str) -> str:
    if text.isascii():  # most is, and asking for each character's category takes long
        return " ".join(_CONTROL.sub(" ", text).split())
    return " ".join("".join(c if is_printable(c) else " " for c in text).split())


def first_sentence(text: str, limit: int) -> str:
    """Without the markup of web pages, in which some documents are written."""
    text = text[: limit * 20]
    text = _LINK.sub(r"\1", text) if "](" in text or "][" in text else text
    sentence = _SENTENCE.split(one_line(_MARKUP.sub(" ", text) if "<" in text else text), maxsplit=1)[0]
    return sentence if len(sentence) <= limit else sentence[: limit - 1].rsplit(" ", 1)[0] + "…"


def comment(text: str, limit: int) -> str:
    """Safe inside `/* … */` and after `//`."""
    return first_sentence(text, limit).replace("*/", "* /").replace("/*", "/ *").replace("`", "'")


def literal(value: object) -> str:
    """A JSON literal, which is a TypeScript literal, with everything invisible escaped."""
    written = json.dumps(value, ensure_ascii=False)
    if written.isascii() and written.isprintable():
        return written
    return "".join(c if is_printable(c) else escaped(c) for c in written)


def escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))


def key(name: str) -> str:
    return name if _IDENTIFIER.match(name) else literal(name)
