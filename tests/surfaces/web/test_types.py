"""The types that the pages are checked against are those of this very API."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_types_are_made_from_the_api_as_it_is() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "web-types", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_no_page_makes_markup_of_text_and_no_lock_names_a_registry() -> None:
    sources = [*(ROOT / "web" / "src").rglob("*.ts*")]
    assert sources
    for file in sources:
        text = file.read_text(encoding="utf-8")
        assert "dangerouslySetInnerHTML" not in text, file
        assert ".innerHTML" not in text, file
    assert '"resolved"' not in (ROOT / "web" / "package-lock.json").read_text(encoding="utf-8")
