"""Messages for Slack and for what understands its incoming webhooks. They lead to a page, and decide nothing.

Our own words come first, on a line of their own. Names that others chose follow as quoted plain text, in which nothing
is a link, a mention or a format.
"""

from __future__ import annotations

from typing import Any

JOINER = "\u2060"  # invisible, and what follows an `@` is no name with it


def render(message: dict[str, Any]) -> dict[str, Any]:
    data = message["data"]
    title, url, subject = escape(data["title"]), escape(data["url"]), data.get("subject", "")
    lines = [f"*{title}*", *([f"`{quote_name(subject)}`"] if subject else []), f"<{url}|Open in Executor>"]
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": lines[0]}},
        {"type": "section", "text": {"type": "mrkdwn", "text": lines[-1]}},
    ]
    if subject:
        blocks.insert(1, {"type": "section", "text": {"type": "plain_text", "text": plain(subject), "emoji": False}})
    return {"text": "\n".join(lines), "blocks": blocks}


def escape(text: str) -> str:
    """The three characters that begin what Slack acts on, such as `<!channel>`."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plain(text: str) -> str:
    """Where nothing is formatted. Services that are not Slack still turn `@channel` into a mention."""
    return text.replace("@", f"@{JOINER}")


def quote_name(text: str) -> str:
    return plain(escape(text)).replace("`", "'")
