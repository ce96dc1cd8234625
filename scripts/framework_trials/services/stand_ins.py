"""Stand-ins for Spring Boot and Rails: their shapes of pages and errors, not their code.

The Spring-like one numbers its pages from 0, answers `Page` objects and Spring Boot's default errors, and refuses
bodies of another type than JSON (415). The Rails-like one answers arrays with `Link` headers, and errors by field.
Prints its port, then serves.
"""

import json
import re
import sys
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

KIND = sys.argv[1]
ITEM = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "format": "int64"},
        "name": {"type": "string"},
        "price": {"type": "number"},
        "archived": {"type": "boolean"},
    },
}
NEW = {"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}
ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer", "format": "int64"}}
items = [{"id": number, "name": f"item {number}", "price": number, "archived": False} for number in range(1, 26)]


def answer(schema):
    return {
        "200": {"description": "OK", "content": {"*/*" if KIND == "spring" else "application/json": {"schema": schema}}}
    }


def query(*names):
    return [{"name": name, "in": "query", "required": False, "schema": {"type": "integer"}} for name in names]


def document():
    spring = KIND == "spring"
    page = {
        "type": "object",
        "properties": {
            "content": {"type": "array", "items": ITEM},
            **{name: {"type": "integer"} for name in ("totalPages", "totalElements", "size", "number")},
            **{name: {"type": "boolean"} for name in ("first", "last", "empty")},
        },
    }
    new = NEW if spring else {"type": "object", "properties": {"item": NEW}, "required": ["item"]}
    upload = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}, "required": ["file"]}
    tags = ["item-controller"] if spring else ["Items"]
    return {
        "openapi": "3.0.1",
        "info": {"title": "OpenAPI definition" if spring else "API V1", "version": "v0"},
        "components": {"securitySchemes": {"bearerAuth": {"type": "http", "scheme": "bearer"}}},
        "security": [{"bearerAuth": []}],
        "paths": {
            "/items": {
                "get": {
                    "operationId": "listItems",
                    "tags": tags,
                    "parameters": query("page", "size") if spring else query("page", "per_page"),
                    "responses": answer(page if spring else {"type": "array", "items": ITEM}),
                },
                "post": {
                    "operationId": "createItem",
                    "tags": tags,
                    "requestBody": {"required": True, "content": {"application/json": {"schema": new}}},
                    "responses": answer(ITEM),
                },
            },
            "/items/{id}": {
                "get": {"operationId": "getItem", "tags": tags, "parameters": [ID], "responses": answer(ITEM)}
            },
            "/items/{id}/archive": {
                "post": {"operationId": "archiveItem", "tags": tags, "parameters": [ID], "responses": answer(ITEM)}
            },
            "/files": {
                "post": {
                    "operationId": "uploadFile",
                    "tags": tags,
                    "requestBody": {"content": {"multipart/form-data": {"schema": upload}}},
                    "responses": answer({"type": "object"}),
                }
            },
            "/files/large": {
                "get": {
                    "operationId": "downloadFile",
                    "tags": tags,
                    "responses": {
                        "200": {
                            "description": "OK",
                            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
                        }
                    },
                }
            },
        },
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        pass

    def reply(self, value, status=200, **headers):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refused(self, status, error, message, errors=()):
        told = {"timestamp": "2026-01-01T00:00:00.000+00:00", "status": status, "error": error, "message": message}
        if KIND == "rails":
            self.reply(
                {"errors": {one["field"]: [one["defaultMessage"]] for one in errors}} if errors else told, status
            )
        else:
            self.reply({**told, "errors": list(errors), "path": self.path}, status)

    def do_GET(self):
        path, asked = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if path == "/openapi.json":
            self.reply(document())
        elif self.headers.get("Authorization") != "Bearer trial-token":
            self.reply({"error": "unauthorized"}, 401, **{"WWW-Authenticate": "Bearer"})
        elif path == "/items":
            self.page(asked)
        elif path == "/files/large":
            kind = {
                "Content-Type": "application/octet-stream",
                "Content-Disposition": 'attachment; filename="large.bin"',
            }
            self.reply(b"x" * 6_000_000, **kind)
        elif match := re.fullmatch(r"/items/(\d+)", path):
            self.reply(items[int(match[1]) - 1])

    def page(self, asked):
        first = 0 if KIND == "spring" else 1
        number = int(asked.get("page", [first])[0])
        size = min(10, int(asked.get("size" if KIND == "spring" else "per_page", [10])[0]))
        start, last = (number - first) * size, -(-len(items) // size) - 1 + first
        found = items[start : start + size]
        if KIND == "spring":
            more = {"totalPages": last + 1, "totalElements": len(items), "size": size, "number": number}
            ends = {"first": number == 0, "last": number >= last, "empty": not found}
            self.reply({"content": found, **more, **ends})
        else:
            links = f'<http://{self.headers["Host"]}/items?page={number + 1}>; rel="next"' if number < last else ""
            self.reply(found, **({"Link": links} if links else {}), Total=str(len(items)))

    def do_POST(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        typed = self.headers.get("Content-Type", "")
        if self.headers.get("Authorization") != "Bearer trial-token":
            self.reply({"error": "unauthorized"}, 401, **{"WWW-Authenticate": "Bearer"})
        elif match := re.fullmatch(r"/items/(\d+)/archive", self.path):
            if typed:
                self.refused(415, "Unsupported Media Type", f"Content-Type '{typed}' is not supported")
                return
            items[int(match[1]) - 1]["archived"] = True
            self.reply(items[int(match[1]) - 1])
        elif self.path == "/files":
            part = message_from_bytes(f"Content-Type: {typed}\r\n\r\n".encode() + data).get_payload()[0]
            size = len(part.get_payload(decode=True))
            self.reply({"name": part.get_filename(), "type": part.get_content_type(), "size": size})
        elif not typed.startswith("application/json"):
            self.refused(415, "Unsupported Media Type", f"Content-Type '{typed}' is not supported")
        else:
            self.create(json.loads(data))

    def create(self, given):
        given = given.get("item", {}) if KIND == "rails" else given
        wrong = [("name", "must not be blank")] if given.get("name") in (None, "", "forbidden") else []
        wrong += [("price", "must be greater than 0")] if not given.get("price", 0) > 0 else []
        if wrong:
            errors = [{"field": name, "defaultMessage": text, "rejectedValue": None} for name, text in wrong]
            status = 422 if KIND == "rails" else 400
            self.refused(status, "Bad Request", f"Validation failed. Error count: {len(wrong)}", errors)
            return
        items.append({"id": len(items) + 1, "archived": False, **given})
        self.reply(items[-1], 201)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
