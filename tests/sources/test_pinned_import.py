from __future__ import annotations

import subprocess
import sys

import pytest

from executor.sources.documents.pinned_import import import_pinned

# The document that is read first comes in a thread that ends, and so does every other.
READING = """
import threading
from executor.errors import DocumentInvalid
from executor.sources.openapi.documents.parser import parse

def read(text):
    try:
        parse(text, "it")
    except DocumentInvalid:
        pass

for text in [b"a: [b]", b"a: [b"] * 30:
    thread = threading.Thread(target=read, args=(text,))
    thread.start()
    thread.join()
"""


def test_yaml_can_be_read_by_one_thread_after_the_other() -> None:
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", READING], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_library_that_is_missing_is_an_import_error() -> None:
    with pytest.raises(ImportError):
        import_pinned("no_such_library")
