from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from executor.errors import DataDirectoryUnusable, Unauthorized
from executor.identity.local_tokens import AGENT_FILE, OPERATOR_FILE, Tokens, read_token


def test_tokens_are_created_once_and_then_read(tmp_path: Path) -> None:
    first = Tokens.load_or_create(tmp_path)
    assert Tokens.load_or_create(tmp_path) == first
    assert sorted(path.name for path in tmp_path.iterdir()) == [AGENT_FILE, OPERATOR_FILE]


def test_token_files_belong_to_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Tokens.load_or_create(tmp_path)
    finally:
        os.umask(before)
    for name in (AGENT_FILE, OPERATOR_FILE):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_operator_and_agent_tokens_are_long_and_differ(tmp_path: Path) -> None:
    tokens = Tokens.load_or_create(tmp_path)
    assert tokens.operator[4:] != tokens.agent[4:]
    assert len(tokens.operator) >= 4 + 43


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o622])
def test_a_token_file_that_others_can_reach_is_refused_with_a_way_out(tmp_path: Path, mode: int) -> None:
    Tokens.load_or_create(tmp_path)
    (tmp_path / OPERATOR_FILE).chmod(mode)
    with pytest.raises(DataDirectoryUnusable) as caught:
        Tokens.load_or_create(tmp_path)
    assert f"{mode:04o}" in caught.value.message
    assert "chmod 600" in caught.value.hint


def test_a_token_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Tokens.load_or_create(tmp_path)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(DataDirectoryUnusable, match="belongs to user"):
        Tokens.load_or_create(tmp_path)


def test_a_link_in_place_of_a_token_file_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    Tokens.load_or_create(elsewhere)
    (tmp_path / OPERATOR_FILE).symlink_to(elsewhere / OPERATOR_FILE)
    with pytest.raises(DataDirectoryUnusable, match="can't be opened"):
        Tokens.load_or_create(tmp_path)


@pytest.mark.parametrize("content", ["", "exo_short", "exo_" + "a" * 42 + "\n\nexo_", "\xff" * 47])
def test_a_file_without_a_token_is_refused_rather_than_used(tmp_path: Path, content: str) -> None:
    path = tmp_path / OPERATOR_FILE
    path.write_text(content, encoding="latin-1")
    path.chmod(0o600)
    with pytest.raises(DataDirectoryUnusable, match="does not contain a token"):
        Tokens.load_or_create(tmp_path)


def test_a_missing_directory_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(DataDirectoryUnusable, match="can't be created"):
        Tokens.load_or_create(tmp_path / "nowhere")


def test_many_that_start_at_once_agree_on_the_tokens(tmp_path: Path) -> None:
    found: list[Tokens] = []
    gate = threading.Barrier(16)

    def load() -> None:
        gate.wait()
        found.append(Tokens.load_or_create(tmp_path))

    threads = [threading.Thread(target=load) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len({(tokens.operator, tokens.agent) for tokens in found}) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [AGENT_FILE, OPERATOR_FILE]


def test_each_token_stands_for_its_kind_of_actor(tmp_path: Path) -> None:
    tokens = Tokens.load_or_create(tmp_path)
    assert tokens.recognise(f"Bearer {tokens.operator}") == ("human", tokens.operator)
    assert tokens.recognise(f"bearer {tokens.agent}") == ("agent", tokens.agent)


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic {0}", "{0}", "Bearer {0}x"])
def test_any_other_header_is_refused(tmp_path: Path, header: str | None) -> None:
    tokens = Tokens.load_or_create(tmp_path)
    with pytest.raises(Unauthorized):
        tokens.recognise(header and header.format(tokens.operator))


@pytest.mark.parametrize("token", ["exk_something", "x{0}", "{0}.{0}"])
def test_a_token_that_others_may_know_is_no_one_yet(tmp_path: Path, token: str) -> None:
    tokens = Tokens.load_or_create(tmp_path)
    shown = token.format(tokens.agent)
    assert tokens.recognise(f"Bearer {shown}") == (None, shown)


def test_a_token_never_shows_up_in_text_about_it(tmp_path: Path) -> None:
    tokens = Tokens.load_or_create(tmp_path)
    with pytest.raises(Unauthorized) as caught:
        tokens.recognise(f"Bearer {tokens.operator}x")
    shown = repr(tokens) + str(tokens) + caught.value.message + caught.value.hint
    assert tokens.operator[4:] not in shown
    assert tokens.agent[4:] not in shown


def test_reading_a_token_that_is_not_there_gives_none(tmp_path: Path) -> None:
    assert read_token(tmp_path / AGENT_FILE) is None
