"""Agent sessions in a browser: started, followed live, decided where they ask, steered and ended."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.support.conditions import wait_for
from tests.surfaces.api.daemon_server import Daemon
from tests.surfaces.web.conftest import Open
from tests.surfaces.web.hostile_api import MARKUP

GIT = shutil.which("git") or "git"


def start(daemon: Daemon, cwd: Path | str, *steps: Any, **more: Any) -> str:
    body = {"agent": "fake", "cwd": str(cwd), "isolation": "simple", "prompt": json.dumps(steps), **more}
    answer = daemon.post("/v1/sessions", body)
    assert answer.status == 201, answer.body
    return str(answer.json["id"])


def transcript(page: Any) -> Any:
    return page.get_by_role("list", name="Transcript")


def test_a_session_is_started_from_the_dialog_and_its_transcript_shown_live(
    visit: Open, daemon: Daemon, tmp_path: Path
) -> None:
    page = visit("/sessions")
    page.get_by_role("button", name="New session").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Agent").select_option("fake")
    dialog.get_by_label("Directory").fill(str(tmp_path))
    dialog.get_by_label("Isolation").select_option("simple")
    dialog.get_by_label("First prompt").fill('[{"say": "The answer is **42**."}]')
    dialog.get_by_role("button", name="Start the session").click()
    page.wait_for_url("**/sessions/ses_*")
    expect(transcript(page).locator("strong")).to_have_text("42")
    page.get_by_label("Prompt", exact=True).fill("And now?")
    page.get_by_role("button", name="Send").click()
    expect(transcript(page)).to_contain_text("You said: And now?")


def test_a_permission_is_decided_where_it_came_up(visit: Open, daemon: Daemon, tmp_path: Path) -> None:
    file = tmp_path / "made.txt"
    session = start(daemon, tmp_path, {"edit": {"path": str(file), "text": "hello\nworld\n"}})
    page = visit(f"/sessions/{session}")
    card = page.get_by_role("article", name="Request: agent.edit")
    expect(card.get_by_role("region", name="Edits")).to_contain_text("+hello")
    assert not file.exists()
    card.get_by_role("button", name="Allow once").click()
    expect(transcript(page)).to_contain_text("completed")
    assert file.read_text() == "hello\nworld\n"
    expect(card).to_have_count(0)


def test_a_denied_command_does_not_run(visit: Open, daemon: Daemon, tmp_path: Path) -> None:
    session = start(daemon, tmp_path, {"bash": f"touch {tmp_path}/ran"}, {"say": "moving on"})
    page = visit(f"/sessions/{session}")
    card = page.get_by_role("article", name="Request: agent.bash")
    card.get_by_role("button", name="Deny…").click()
    card.get_by_role("button", name="Deny", exact=True).click()
    expect(transcript(page)).to_contain_text("moving on")
    assert not (tmp_path / "ran").exists()


def test_prompts_wait_in_a_queue_and_can_be_removed(visit: Open, daemon: Daemon, tmp_path: Path) -> None:
    session = start(daemon, tmp_path, {"bash": "echo first"})
    page = visit(f"/sessions/{session}")
    expect(page.get_by_role("article", name="Request: agent.bash")).to_be_visible()
    page.get_by_label("Prompt", exact=True).fill("second")
    page.get_by_role("button", name="Queue").click()
    queue = page.get_by_role("list", name="Queued prompts")
    expect(queue).to_contain_text("second")
    queue.get_by_role("button", name="Remove").click()
    expect(queue).to_have_count(0)
    page.get_by_role("button", name="Stop the task").click()
    expect(page.get_by_role("article", name="Prompt 1")).to_contain_text("cancelled")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text("The session is stopped.")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_label("Prompt", exact=True)).to_be_visible()


def test_changes_of_a_repository_are_shown_marked_and_committed(visit: Open, daemon: Daemon, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    git = [GIT, "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([GIT, "init", "-q", "-b", "main", str(repository)], check=True)
    (repository / "a.txt").write_text("one\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    command = "echo two >> a.txt; echo 'all:' > Makefile"
    session = start(daemon, "", {"run": command}, repository=str(repository))
    wait_for(lambda: daemon.get(f"/v1/sessions/{session}").json["status"] == "idle")
    page = visit(f"/sessions/{session}?tab=changes")
    files = page.get_by_role("list", name="Changed files")
    expect(files).to_contain_text("a.txt")
    expect(files.get_by_role("listitem").filter(has_text="Makefile")).to_contain_text("⚠")
    expect(page.get_by_role("region", name="Changes of a.txt")).to_contain_text("+two")
    page.get_by_label("Commit message").fill("Add two")
    page.get_by_role("button", name="Commit").click()
    expect(page.get_by_text("Committed to")).to_be_visible()
    branch = daemon.get(f"/v1/sessions/{session}").json["branch"]
    shown = subprocess.run([*git, "show", "--stat", branch], check=True, capture_output=True, text=True).stdout
    assert "Add two" in shown and "a.txt" in shown


def test_what_an_agent_writes_is_only_text(visit: Open, daemon: Daemon, tmp_path: Path) -> None:
    picture = "![x](https://example.com/x.png) [go](javascript:window.hacked=1)"
    session = start(
        daemon,
        tmp_path,
        {"think": MARKUP},
        {"plan": [MARKUP]},
        {"say": f"{MARKUP} {picture}"},
        {"run": f"echo '{MARKUP}'"},
    )
    page = visit(f"/sessions/{session}")
    expect(transcript(page)).to_contain_text("[picture: x]")
    expect(transcript(page).get_by_text("<img src=x").first).to_be_visible()
    assert page.evaluate("window.hacked") is None
    assert transcript(page).locator("img, script, iframe").count() == 0
    assert not transcript(page).locator("a[href^='javascript']").count()
