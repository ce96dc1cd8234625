"""The service of the trials with FastAPI. Prints its port, then serves."""

import socket
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Query, UploadFile
from fastapi.responses import Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field, field_validator

app = FastAPI(title="Fast shop")
bearer = HTTPBearer()


def check(given: Annotated[HTTPAuthorizationCredentials, Depends(bearer)]) -> None:
    if given.credentials != "trial-token":
        raise HTTPException(401, "wrong token", {"WWW-Authenticate": "Bearer"})


class NewItem(BaseModel):
    name: str = Field(min_length=1)
    price: float = Field(gt=0)

    @field_validator("name")
    @classmethod
    def check_name(cls, name: str) -> str:
        if name == "forbidden":
            raise ValueError("this name is forbidden")
        return name


class Item(NewItem):
    id: int
    archived: bool = False


class Page(BaseModel):
    items: list[Item]
    total: int
    page: int
    size: int


items = [Item(id=number, name=f"item {number}", price=number) for number in range(1, 26)]
secured = {"dependencies": [Depends(check)], "tags": ["items"]}


@app.get("/items", **secured)
def list_items(page: Annotated[int, Query(ge=1)] = 1, size: Annotated[int, Query(ge=1, le=10)] = 10) -> Page:
    return Page(items=items[(page - 1) * size : page * size], total=len(items), page=page, size=size)


@app.post("/items", status_code=201, **secured)
def create_item(item: NewItem) -> Item:
    items.append(Item(id=len(items) + 1, **item.model_dump()))
    return items[-1]


@app.get("/items/{item_id}", **secured)
def get_item(item_id: int) -> Item:
    if not 0 < item_id <= len(items):
        raise HTTPException(404, f"there is no item {item_id}")
    return items[item_id - 1]


@app.post("/items/{item_id}/archive", **secured)
def archive_item(item_id: int) -> Item:
    items[item_id - 1].archived = True
    return items[item_id - 1]


@app.post("/files", dependencies=[Depends(check)], tags=["files"])
def upload_file(file: UploadFile) -> dict[str, str | int | None]:
    return {"name": file.filename, "type": file.content_type, "size": len(file.file.read())}


@app.get("/files/large", dependencies=[Depends(check)], tags=["files"], response_class=Response)
def download_file() -> Response:
    headers = {"Content-Disposition": 'attachment; filename="large.bin"'}
    return Response(b"x" * 6_000_000, media_type="application/octet-stream", headers=headers)


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none")).run(sockets=[listener])
