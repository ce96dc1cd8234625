"""Apps that a query names and that are not connected: the best tool for another app is no answer to that."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from executor.catalog.search.entry import MAX_QUERY
from executor.sources import templates

# A name that is also a common word, or said of people, counts only where an app is named: first, or after these.
_BEFORE_AN_APP = frozenset({"in", "on", "to", "from", "via", "with", "using", "at"})
_COMMON = frozenset({"box", "linear"})
# Well-known and not among the templates.
_OTHERS = frozenset(
    {
        "airtable", "bitbucket", "clickup", "confluence", "datadog", "docusign", "dropbox", "evernote", "freshdesk",
        "gmail", "hubspot", "intercom", "jenkins", "mailchimp", "mixpanel", "onedrive", "paypal", "quickbooks",
        "salesforce", "sendgrid", "sharepoint", "shopify", "snowflake", "spotify", "todoist", "trello", "twitter",
        "typeform", "whatsapp", "wordpress", "xero", "youtube", "zapier", "zendesk",
    }
)  # fmt: skip
_WORD = re.compile(r"[a-z0-9]+")
_APP = re.compile(r"[a-z][a-z0-9]{2,}")
WORDS_OF_A_REQUEST = 3  # app + verb + object


def absent(query: str, names: Sequence[str], is_foreign: Callable[[str, str], bool] | None = None) -> str:
    """The first app of the query that none of the sources' names has, or nothing.

    A query that is put as app + verb + object may name any app: `is_foreign` says of its first two words whether they
    can only be one that no tool knows, and a verb.
    """
    words: list[str] = _WORD.findall(query[:MAX_QUERY].lower())
    for at, word in enumerate(words):
        if word not in _OTHERS and word not in templates.known():
            continue
        is_named = word not in _COMMON | _OTHERS or at == 0 or words[at - 1] in _BEFORE_AN_APP
        if is_named and not is_connected(word, names):
            return word
    if is_foreign is None or len(words) < WORDS_OF_A_REQUEST or not _APP.fullmatch(words[0]):
        return ""
    return words[0] if is_foreign(words[0], words[1]) and not is_connected(words[0], names) else ""


def is_connected(app: str, names: Sequence[str]) -> bool:
    return any(app in "".join(_WORD.findall(name.lower())) for name in names)


def how_to_connect(app: str) -> str:
    return f"; a person can connect it: `executor sources add {app}`" if app in templates.known() else ""
