"""The documents of a folder, read by the checker itself: nothing here uses what is being checked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import orjson
import yaml_rs

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_MARK = re.compile(rb"""["']?(?:openapi|swagger)["']?\s*:\s*["']?[0-9]""")


def found_in(folder: Path) -> Iterator[Path]:
    """Files that say they are OpenAPI or Swagger documents."""
    for path in sorted(folder.rglob("*")):
        if (
            path.name != "package.json"
            and path.suffix in (".json", ".yaml", ".yml")
            and path.is_file()
            and _MARK.search(path.read_bytes())
        ):
            yield path


def read(path: Path) -> Any:
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(data)
    except ValueError:
        return yaml_rs.loads(
            data.decode(), parse_datetime=False, duplicate_key_policy=yaml_rs.DuplicateKeyPolicy.LastWins
        )


def keys(node: Any) -> Any:
    """Keys as text, the way JSON would have them."""
    if isinstance(node, dict):
        return {name(key): keys(part) for key, part in node.items()}
    return [keys(part) for part in node] if isinstance(node, list) else node


def name(key: Any) -> str:
    return key if isinstance(key, str) else {True: "true", False: "false", None: "null"}.get(key, str(key))


@dataclass
class Document:
    path: Path
    root: dict[str, Any]
    others: dict[Path, Any] = field(default_factory=dict)
    homes: dict[int, Path] = field(default_factory=dict)

    @property
    def is_swagger(self) -> bool:
        return "swagger" in self.root and "openapi" not in self.root

    @property
    def has_siblings(self) -> bool:
        """Whether what stands beside a `$ref` counts."""
        return not re.match(r"[12]|3\.0", str(self.root.get("openapi") or self.root.get("swagger")))

    def follow(self, node: Any, hops: int = 30) -> Any:
        """Resolved by walking; None for what leads nowhere."""
        while isinstance(node, dict) and isinstance(node.get("$ref"), str) and hops:
            node, hops = self.target(node), hops - 1
        return node if hops else None

    def target(self, node: dict[str, Any]) -> Any:
        file, _, fragment = node["$ref"].partition("#")
        home = self.homes.get(id(node), self.path)
        target = (home.parent / unquote(file)).resolve() if file and "://" not in file else home
        root = self.root if target == self.path else self._other(target)
        if "://" in file or root is None:
            return None
        for token in fragment.split("/")[1:]:
            token = unquote(token).replace("~1", "/").replace("~0", "~")
            if isinstance(root, list):
                root = root[int(token)] if token.isdecimal() and int(token) < len(root) else None
            else:
                root = self.follow(root)
                root = root.get(token) if isinstance(root, dict) else None
        return root

    def _other(self, path: Path) -> Any:
        if path not in self.others:
            try:
                self.others[path] = keys(read(path))
            except (OSError, ValueError):
                self.others[path] = None
            stack = [self.others[path]]
            while stack:
                node = stack.pop()
                if isinstance(node, dict):
                    self.homes[id(node)] = path
                    stack.extend(node.values())
                elif isinstance(node, list):
                    stack.extend(node)
        return self.others[path]

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
        """(method, path, operation, path item)"""
        paths = self.root.get("paths")
        for path, raw in paths.items() if isinstance(paths, dict) else ():
            item = self.follow(raw)
            if not isinstance(item, dict) or path.startswith("x-"):
                continue
            for method in METHODS:
                operation = self.follow(item.get(method))
                if isinstance(operation, dict):
                    yield method.upper(), path, operation, item
            for method, one in (item.get("additionalOperations") or {}).items():
                if isinstance(self.follow(one), dict):
                    yield method.upper(), path, self.follow(one), item
