"""The terminal's model: equal to xterm.js cell by cell, live and restored. Nothing passes that does more than draw."""

from __future__ import annotations

import os
import pty
import random
import select
import shutil
import struct
import subprocess
import termios
import time
from fcntl import ioctl
from pathlib import Path

import pytest

from executor.sessions.terminals.emulator.emulator import Emulator
from executor.sessions.terminals.emulator.snapshot import take_snapshot
from tests.sessions.terminals.reference import Case, cells_of, history_of, model_of, restore_case, show

pytestmark = pytest.mark.skipif(
    not (Path(__file__).parents[3] / "web/node_modules/@xterm/headless").is_dir(),
    reason="the packages of the web UI are not installed: `scripts/setup dev`",
)
VIM = (
    "\x1b[?1049h\x1b[22;0;0t\x1b[>4;2m\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h\x1b[1;24r\x1b[?12h\x1b[?12l\x1b[27m\x1b[m"
    '\x1b[H\x1b[2J\x1b[?25l\x1b[24;1H"notes.txt" 2L, 40B\x1b[1;1H\x1b[38;5;130m  1 \x1b[mfirst line'
    "\x1b[2;1H\x1b[38;5;130m  2 \x1b[msecond \x1b[48;2;10;20;30mcoloured\x1b[0m 漢字\x1b[94m\r\n~\x1b[4;1H~\x1b[m"
    "\x1b[24;60H1,1\x1b[11CAll\x1b[1;5H\x1b[?25h"
)
CASES = {
    "text": "hello\r\nworld\ttab\b\b!\r\n",
    "vim": "$ vim notes.txt\r\n" + VIM,
    "vim left": "$ vim notes.txt\r\n" + VIM + "\x1b[?2004l\x1b[?1l\x1b>\x1b[?1049l\x1b[?25h$ \x1b[31mback",
    "256 colours": "".join(f"\x1b[38;5;{n}m{n:4d}\x1b[48;5;{255 - n}m#\x1b[0m" for n in range(256)),
    "true colour": "\x1b[38;2;1;2;3mA\x1b[48:2::4:5:6mB\x1b[1;3;4;7;9mC\x1b[22;24mD\x1b[0;91;104mE\x1b[39mF\x1b[49mG",
    "wide": "漢字かな " * 12 + "e\u0301 " + "x" * 60 + "漢\r\x1b[3Cx\x1b[5Gy",
    "wide at the edge": "x" * 79 + "漢字",
    "halves of wide characters": "漢字漢字漢字\x1b[2Gx\x1b[6G\x1b[K\r\n漢字漢字\x1b[2G\x1b[P"
    "\x1b[3@\r\n漢字\x1b[2G\x1b[2X",
    "wrapping": "a" * 80 + "\r\n" + "b" * 80 + "c" + "d" * 170,
    "no wrapping": "\x1b[?7l" + "abcdefghij" * 9 + "\x1b[?7h!",
    "pending wrap": "a" * 80,
    "erased with a background": "\x1b[44m\x1b[2J\x1b[5;5Hx\x1b[K\x1b[1J\x1b[0m\r\ny\x1b[41m\x1b[2P\x1b[3@\x1b[4X",
    "scrolling region": "\x1b[5;10r\x1b[10;1H" + "\n".join(f"\r{n}" for n in range(20))
    + "\x1b[2S\x1b[1T\x1b[6;1H\x1bM\x1b[5;1H\x1bM",
    "region at the top": "\x1b[1;10r" + "\r\n".join(f"line {n}" for n in range(40)) + "\x1b[r",
    "lines in and out": "".join(f"{n}\r\n" for n in range(20))
    + "\x1b[5;3H\x1b[2L\x1b[10;1H\x1b[3M\x1b[2;4H\x1b[4hins\x1b[4l",
    "origin": "\x1b[5;10r\x1b[?6h\x1b[1;1Htop\x1b[99;1Hbottom\x1b[3;3H",
    "line drawing": "\x1b(0lqqqk\x1b(B ok \x1b)0\x0ex\x0f x\x0e",
    "saved": "\x1b[3;7H\x1b[31m\x1b7\x1b[H\x1b[0mhome\x1b8back\x1b[s\x1b[1;1H\x1b[u!",
    "saved on both screens": "\x1b[3;7H\x1b7\x1b[?1049h\x1b[9;9H\x1b7\x1b[1;1Hx",
    "tabs": "\x1b[3g\x1b[5G\x1bH\x1b[11G\x1bH\r\ta\tb\tc\x1b[2Zz",
    "repeated": "=\x1b[79b\r\n-\x1b[5b",
    "full reset": "junk\x1b[31m\x1b[?1049hmore\x1bcclean",
    "soft reset": "\x1b[31m\x1b[5;9r\x1b[?6h\x1b[4hx\x1b[!p\x1b[HY",
    "scrollback": "".join(f"\x1b[3{n % 8}mline {n}\x1b[0m {'x' * (n % 200)}\r\n" for n in range(300)),
    "too much scrollback": "".join(f"{n}\r\n" for n in range(2500)),
    "history cleared": "".join(f"{n}\r\n" for n in range(50)) + "\x1b[H\x1b[2J\x1b[3J$ ",
    "modes": "\x1b[?1h\x1b=\x1b[?2004h\x1b[?1000h\x1b[?1006h\x1b[?25l\x1b[4hx",
    "broken": "\x1b[1<2mA\x1b[\x1b[31mB\x1b]0;title\x1b[32mC"
    "\x1b[999999999999;1HD\x1bP1$r\x1b\\E\x1b_x\x1b\\F\x9bG\x1b[?9999h",
    "bytes": b"caf\xc3\xa9 \xff\xfe ok \xe6\xbc",
}  # fmt: skip
AFTER = "\x1b[?7htail \x1b[1mbold\r\nnext\x1b[?1049l$ \x1b8*"


def case_of(name: str) -> Case:
    data = CASES[name]
    return 80, 24, data if isinstance(data, bytes) else data.encode()


@pytest.fixture(scope="module")
def screens() -> dict[str, list[dict[str, object]]]:
    """Of every case: as it came, restored, and both with more output afterwards. One process for all of them."""
    cases: list[Case] = []
    for name in CASES:
        case = case_of(name)
        clean = Emulator(80, 24).feed(case[2])[0].encode()
        cases += [(80, 24, clean), restore_case(case)]
        cases += [(80, 24, clean + AFTER.encode()), restore_case(case, after=AFTER.encode())]
    found = show(cases)
    return {name: found[4 * at : 4 * at + 4] for at, name in enumerate(CASES)}


@pytest.mark.parametrize("name", CASES)
def test_the_model_shows_what_xterm_shows(name: str, screens: dict[str, list[dict[str, object]]]) -> None:
    reference = screens[name][0]
    for piece in (0, 1, 7):
        emulator = model_of(case_of(name), piece)
        assert cells_of(emulator) == reference["screen"]
        assert [emulator.screen.x, emulator.screen.y] == reference["cursor"]
        assert history_of(emulator) == reference["history"]
        assert (emulator.screen is emulator.other) == (reference["buffer"] == "alternate")


@pytest.mark.parametrize("name", CASES)
def test_a_snapshot_restores_everything(name: str, screens: dict[str, list[dict[str, object]]]) -> None:
    original, again, continued, continued_again = screens[name]
    assert again == original
    assert continued_again == continued


def test_random_output_is_shown_and_restored_as_xterm_shows_it() -> None:
    """Without origin mode, in which xterm.js moves the cursor further than it is asked to."""
    chance = random.Random(17)
    pieces = [
        "word", "漢字", "e\u0301", "\r\n", "\n", "\t", "\b", "x" * 30, "\x1b[A", "\x1b[3B", "\x1b[5C", "\x1b[2D",
        "\x1b[E", "\x1b[3;4H", "\x1b[9;39H", "\x1b[J", "\x1b[1J", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[2L",
        "\x1b[M", "\x1b[3@",
        "\x1b[2P", "\x1b[4X", "\x1b[S", "\x1b[T", "\x1bM", "\x1bD", "\x1bE", "\x1b7", "\x1b8", "\x1b[3;8r", "\x1b[r",
        "\x1b[31m", "\x1b[44m", "\x1b[1;4m", "\x1b[0m", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?7l", "\x1b[?7h", "\x1b[4h",
        "\x1b[4l", "\x1b(0", "\x1b(B", "\x1b[7G", "\x1b[4d", "\x1b[38;5;99m", "\x1b[3b",
    ]  # fmt: skip
    cases = [(40, 10, "".join(chance.choices(pieces, k=60)).encode()) for _ in range(300)]
    models = [model_of(case) for case in cases]
    found = show([*cases, *((40, 10, take_snapshot(model)) for model in models)])
    for at, (case, model) in enumerate(zip(cases, models, strict=True)):
        original, again = found[at], found[at + len(cases)]
        if original is None:
            continue  # xterm.js itself fails on it
        assert cells_of(model) == original["screen"], case
        assert [model.screen.x, model.screen.y] == original["cursor"], case
        assert {**again, "wrapped": 0} == {**original, "wrapped": 0}, case


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        (["vim", "-u", "NONE", "-N", "+set nu hls", "+syn on", "{file}"], b"jjdd/line 1\rochanged\x1b"),
        (["less", "-N", "{file}"], b"  b/line 3\r"),
        (["top", "-d", "0.3"], b"1"),
    ],
)
def test_real_programs_look_the_same(command: list[str], keys: bytes, tmp_path: Path) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    file = tmp_path / "file.txt"
    file.write_text("".join(f"line {n} of a file\twith 漢字 and tabs\n" for n in range(200)))
    case = (90, 30, run_program([part.replace("{file}", str(file)) for part in command], keys, 90, 30))
    original, again = show([case, restore_case(case)])
    assert again == original
    assert cells_of(model_of(case)) == original["screen"]
    assert any(cell[0].strip() for line in original["screen"] for cell in line)


def run_program(command: list[str], keys: bytes, columns: int, rows: int) -> bytes:
    """What it writes until it has been silent, with the model as its terminal."""
    ours, theirs = pty.openpty()
    ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    env = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8", "HOME": "/nonexistent"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True)
    os.close(theirs)
    emulator, seen = Emulator(columns, rows), b""
    try:
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            if select.select([ours], [], [], 1.0)[0]:
                data = os.read(ours, 65536)
                seen += data
                os.write(ours, emulator.feed(data)[1])
            elif keys:
                os.write(ours, keys)
                keys = b""
            else:
                break
            if len(seen) > 100_000:
                break
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return seen


def test_only_what_draws_is_passed_on() -> None:
    hostile = (
        "a\x1b]52;c;c2VjcmV0\x07b\x1b]0;title\x1b\\c\x1b]8;;http://evil\x07link\x1b]8;;\x07\x1b[21t\x1b[>c\x1b[=c\x1b[?6n"
        "\x1bP+q544e\x1b\\\x1b]4;1;?\x07\x1b]11;?\x1b\\\x1b[?5$p\x1b[>q\x1b[5i\x1b_Ga=T\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\"
        "\x9d52;c;eA==\x9c\x9b21t\x1b[?1337h\x1b[?1;1337h\x1b]1337;File=x\x07\x05\x1b[8;99;99t\x1bZ\x1b#8d"
    )
    emulator = Emulator(80, 24)
    clean, answers = emulator.feed(hostile.encode())
    assert clean == "abclink52;c;eA==21t\x1b[?1hd"
    assert answers == b""
    assert emulator.feed(b"\x1b[c\x1b[0c\x1b[5n\x1b[6n\x1b[3;4H\x1b[6n") == (
        "\x1b[3;4H", b"\x1b[?62;22c\x1b[?62;22c\x1b[0n\x1b[1;21R\x1b[3;4R",
    )  # fmt: skip


def test_a_string_without_an_end_costs_little_and_hides_nothing_after_it() -> None:
    emulator = Emulator(80, 24)
    emulator.feed(b"\x1b]52;c;")
    for _ in range(1000):
        assert emulator.feed(b"A" * 10_000) == ("", b"")
    assert emulator.feed(b"\x07shown")[0] == "shown"
    emulator.feed(b"\x1b[" + b"1;" * 10_000)
    assert emulator.feed(b"m\r\nstill here")[0].endswith("still here")


def test_after_a_new_size_the_screen_has_it_and_loses_nothing_above_the_cursor() -> None:
    emulator = model_of((80, 24, b"".join(b"%d\r\n" % n for n in range(100)) + b"$ prompt"))
    emulator.resize(40, 10)
    [small] = show([(40, 10, take_snapshot(emulator))])
    assert small["screen"] == cells_of(emulator)
    text = ["".join(cell[0] for cell in line).rstrip() for line in small["screen"]]
    assert text[-2:] == ["99", "$ prompt"]
    assert small["history"] == [str(n) for n in range(91)]
    emulator.resize(120, 50)
    [large] = show([(120, 50, take_snapshot(emulator))])
    assert large["screen"] == cells_of(emulator)


def test_lines_flow_when_the_width_changes_and_nothing_is_lost() -> None:
    text = ["short", "x" * 95 + "end", "漢字" * 30 + "!", "", "\x1b[31m" + "red " * 40 + "\x1b[0m", "last"]
    emulator = model_of((80, 24, "\r\n".join(text).encode() + b"\r\n$ prompt"))
    whole = flowing(emulator)
    for columns, rows in ((31, 10), (200, 40), (33, 5), (80, 24)):
        emulator.resize(columns, rows)
        assert flowing(emulator) == whole
        line = emulator.screen.line
        assert "".join(line.chars[: emulator.screen.x]) == "$ prompt"
        [shown] = show([(columns, rows, take_snapshot(emulator))])
        assert shown["screen"] == cells_of(emulator)
        assert shown["cursor"] == [emulator.screen.x, emulator.screen.y]


@pytest.mark.parametrize(("before", "after"), [((80, 24), (90, 25)), ((90, 25), (70, 20)), ((80, 3), (200, 3))])
@pytest.mark.parametrize("length", [5, 75, 80, 82, 170])
def test_a_shell_that_draws_its_prompt_again_erases_nothing_above_it(
    before: tuple[int, int], after: tuple[int, int], length: int
) -> None:
    prompt = "p" * length + "$ "
    emulator = model_of((*before, f"first\r\nready\r\n{prompt}".encode()))
    emulator.resize(*after)
    used = (len(prompt) - 1) // before[0]  # rows besides the last one, as readline counts them
    emulator.feed(("\r\x1b[K" + "\r\x1b[A\x1b[K" * used + "\r" + prompt).encode())
    assert flowing(emulator) == ["first", "ready", prompt.rstrip()]


def flowing(emulator: Emulator) -> list[str]:
    """Its lines, however they are cut."""
    found: list[str] = []
    for line in (*emulator.main.scrollback, *emulator.main.lines):
        if line.continues:
            found[-1] += "".join(line.chars)
        else:
            found.append("".join(line.chars))
    return [line.rstrip() for line in found[: 1 + max(at for at, line in enumerate(found) if line.strip())]]


def test_nothing_that_is_written_breaks_the_model() -> None:
    chance = random.Random(5)
    alphabet = [
        *"\x1b\x1b\x1b[[[[?;;:0123456789ABCDEFGHIJKLMPSTXZ`abdefghlmnrsuqpc()!> \r\n\t\b\x0e\x0fx",
        "漢",
        "\u0301",
    ]
    for _ in range(200):
        emulator = Emulator(chance.randint(2, 50), chance.randint(2, 20))
        for _ in range(10):
            data = "".join(chance.choices(alphabet, k=200)).encode() + chance.randbytes(20)
            clean, _ = emulator.feed(data)
            again = Emulator(emulator.columns, emulator.rows)
            again.feed(take_snapshot(emulator))
            assert [line.chars for line in again.screen.lines] or clean == ""
            emulator.resize(chance.randint(2, 50), chance.randint(2, 20))
            for line in emulator.screen.lines:
                assert len(line.chars) == len(line.styles) <= emulator.columns
            assert 0 <= emulator.screen.x <= emulator.columns and 0 <= emulator.screen.y < emulator.rows
