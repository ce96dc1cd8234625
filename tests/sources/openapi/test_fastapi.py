"""A service made with FastAPI, connected by the document that it writes itself. Others: `scripts/try-frameworks`."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Annotated, Any

import pytest
import uvicorn
from fastapi import FastAPI, Query
from pydantic import BaseModel, Field, field_validator

from executor.errors import ToolError
from executor.model.source import Source
from executor.network.client import Egress
from executor.sources.openapi.kind import OpenApi
from executor.sources.source_request import Consent, SourceRequest

Call = Callable[..., Awaitable[Any]]


class Item(BaseModel):
    id: int = 0
    name: str = Field(min_length=1)

    @field_validator("name")
    @classmethod
    def check_name(cls, name: str) -> str:
        if name == "forbidden":
            raise ValueError("this name is forbidden")
        return name


class Page(BaseModel):
    items: list[Item]
    total: int
    page: int


def shop() -> FastAPI:
    app = FastAPI(title="Shop")
    items = [Item(id=number, name=f"item {number}") for number in range(1, 26)]

    def list_items(page: Annotated[int, Query(ge=1)] = 1) -> Page:
        return Page(items=items[(page - 1) * 10 : page * 10], total=len(items), page=page)

    def create_item(item: Item) -> Item:
        items.append(item.model_copy(update={"id": len(items) + 1}))
        return items[-1]

    def archive_item(item_id: int) -> dict[str, bool]:
        return {"archived": items[item_id - 1].id == item_id}

    app.add_api_route("/items", list_items, methods=["GET"], tags=["items"])
    app.add_api_route("/items", create_item, methods=["POST"], tags=["items"], status_code=201)
    app.add_api_route("/items/{item_id}/archive", archive_item, methods=["POST"], tags=["items"])
    return app


@pytest.fixture
def address() -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(shop(), log_level="error", ws="none", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(60)
    listener.close()


@pytest.fixture
async def call(address: str) -> AsyncIterator[Call]:
    egress = Egress(connect_seconds=60.0)
    kind = OpenApi(egress)
    loaded = await kind.load(SourceRequest(location=f"{address}/openapi.json", consented=Consent(private_network=True)))
    source = Source("src", "ws", "openapi", loaded.namespace, loaded.name, loaded.config)
    tools = {tool.path.partition(".")[2]: tool for tool in loaded.tools}

    async def send(name: str, /, **arguments: Any) -> Any:
        return json.loads(await kind.invoke(source, tools[f"items.{name}"], arguments, ""))

    yield send
    await egress.close()


async def test_a_service_of_fastapi_is_used_from_end_to_end(call: Call) -> None:
    assert (await call("createItem", name="made"))["id"] == 26
    listed = await call("listItems.all")
    assert listed["complete"] and [one["id"] for one in listed["items"]] == [*range(1, 27)]
    assert await call("archiveItem", item_id=3) == {"archived": True}
    with pytest.raises(ToolError, match=r"answered 422: body\.name: Value error, this name is forbidden"):
        await call("createItem", name="forbidden")
