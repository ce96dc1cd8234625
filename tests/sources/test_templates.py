from __future__ import annotations

import re

from executor.network.addresses import parse
from executor.sources import templates
from executor.sources.registry import BUILT_IN
from executor.sources.source_request import SourceRequest


def test_there_are_templates_for_the_common_providers() -> None:
    known = templates.read_templates()
    assert len(known) >= 15
    assert known.keys() >= {"github", "stripe", "slack", "linear", "notion", "gitlab", "jira", "asana", "discord"}


def test_every_template_says_something_that_can_be_connected() -> None:
    for name, template in templates.read_templates().items():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
        assert template.kind in BUILT_IN
        assert parse(template.location).scheme == "https"
        assert re.fullmatch(r"[a-z][a-z0-9_]{0,62}", template.namespace)
        assert template.name and template.name.isprintable()


def test_the_name_of_a_template_stands_for_what_it_says_and_what_is_given_wins() -> None:
    request = templates.apply_template(SourceRequest(location="github", namespace="gh", headers=(("a", "b"),)))
    assert request.kind == "openapi" and request.location.startswith("https://")
    assert (request.namespace, request.base_url, request.name) == ("gh", "https://api.github.com", "GitHub")
    assert request.headers == (("a", "b"),)


def test_a_document_or_another_address_is_left_alone() -> None:
    for request in (SourceRequest(location="github", document=b"x"), SourceRequest(location="https://github")):
        assert templates.apply_template(request) is request
