"""Libraries whose memory belongs to the thread that loads them.

`yaml_rs` brings an allocator of its own, which takes the thread that loads it for the one that lives longest. Once that
thread has ended, the next thread to parse brings the process down.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from types import ModuleType

_loading = threading.Lock()


def import_pinned(name: str) -> ModuleType:
    """The library, loaded by the main thread or by one that never ends."""
    if name not in sys.modules and threading.current_thread() is not threading.main_thread():
        with _loading:
            if name not in sys.modules:
                loaded = threading.Event()
                threading.Thread(target=_load_and_stay, args=(name, loaded), name=f"{name} stays", daemon=True).start()
                loaded.wait()
    return import_module(name)


def _load_and_stay(name: str, loaded: threading.Event) -> None:
    try:
        import_module(name)
    except ImportError:
        return  # anyone who asked for it meets the same error
    finally:
        loaded.set()
    threading.Event().wait()
