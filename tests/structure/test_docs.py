"""Links in the documents lead somewhere, and the index of the documents names every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("scripts/*.md")])
LINK = re.compile(r"\]\(([^()\s]+)\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def links_of(page: Path) -> list[str]:
    found = LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def anchors_of(page: Path) -> set[str]:
    """As the usual hosts make them of headings: lower case, without punctuation, hyphens for spaces."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in links_of(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []


def test_the_index_names_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    named = {(index.parent / link.partition("#")[0]).resolve() for link in links_of(index)}
    assert [page for page in ROOT.glob("docs/**/*.md") if page != index and page not in named] == []


def test_every_script_is_described() -> None:
    text = (ROOT / "scripts" / "README.md").read_text(encoding="utf-8")
    scripts = [file.name for file in (ROOT / "scripts").iterdir() if file.is_file() and not file.suffix]
    assert [name for name in scripts if f"| `{name}` |" not in text] == []


def test_every_step_of_the_scripted_agent_is_documented() -> None:
    agent = (ROOT / "src/executor/sessions/agents/fake/agent.py").read_text(encoding="utf-8")
    page = (ROOT / "docs/sessions.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert set(re.findall(r"def do_(\w+)", agent)) <= documented
