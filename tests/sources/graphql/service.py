"""A real GraphQL service: graphql-core executes what arrives over HTTP."""

from __future__ import annotations

from typing import Any

from graphql import GraphQLError, GraphQLSchema, build_schema, graphql_sync

from executor.model.source import Loaded, Source
from executor.model.tool import Tool
from tests.sources.upstream import Got, Handler, Reply, as_json

SDL = """
scalar JSON
"Who may do what"
enum Role { ADMIN MEMBER }
interface Node { id: ID! }
type User implements Node {
  id: ID!
  name: String!
  role: Role
  settings: JSON
  secret(of: String!): String
  posts(tag: String): [Post!]!
  best(count: Int!): [Post!]
  friends: [User!]!
}
type Post implements Node { id: ID! title: String! author: User! length: Int }
union Found = User | Post
type PageInfo { hasNextPage: Boolean! endCursor: String }
type PostEdge { cursor: String! node: Post }
type PostConnection { edges: [PostEdge!]! pageInfo: PageInfo! totalCount: Int! }
input Filter { text: String and: [Filter!] role: Role = MEMBER }
input NewPost { title: String! author: ID! settings: JSON }
type CreatePostPayload { clientMutationId: String post: Post }
type Query {
  "One user.\\n\\nMore about it."
  user(id: ID!): User
  users(filter: Filter, limit: Int! = 2): [User!]!
  posts(first: Int, after: String): PostConnection!
  search(text: String!): [Found!]!
  node(id: ID!): Node
  count: Int!
  echo(select: String, value: JSON): JSON
  picked(select: Int): User
  old: String @deprecated(reason: "gone")
}
type Mutation {
  createPost(input: NewPost!): CreatePostPayload
  deletePost(id: ID!): Boolean!
  renameUser(id: ID!, name: String!): User
}
type Subscription { ticks: Int! }
"""

USERS: dict[str, dict[str, Any]] = {
    "1": {"__typename": "User", "id": "1", "name": "Ada", "role": "ADMIN", "settings": {"a": [1]}},
    "2": {"__typename": "User", "id": "2", "name": "Bo", "role": None, "settings": None},
}
POSTS: dict[str, dict[str, Any]] = {
    "p1": {"__typename": "Post", "id": "p1", "title": "Hello", "author": USERS["1"], "length": 5},
    "p2": {"__typename": "Post", "id": "p2", "title": "World", "author": USERS["2"], "length": None},
}


class Root:
    """The root value: its methods resolve the fields of the root types."""

    def __init__(self) -> None:
        self.written: list[tuple[str, Any]] = []

    def user(self, info: Any, id: str) -> Any:
        return USERS.get(id)

    def users(self, info: Any, limit: int, filter: Any = None) -> Any:
        return list(USERS.values())[:limit]

    def posts(self, info: Any, first: int = 10, after: str = "") -> Any:
        edges = [{"cursor": key, "node": post} for key, post in POSTS.items()][:first]
        page = {"hasNextPage": first < len(POSTS), "endCursor": edges[-1]["cursor"]}
        return {"edges": edges, "pageInfo": page, "totalCount": len(POSTS)}

    def search(self, info: Any, text: str) -> Any:
        return [USERS["1"], POSTS["p1"]]

    def node(self, info: Any, id: str) -> Any:
        return USERS.get(id) or POSTS.get(id)

    def count(self, info: Any) -> int:
        return len(USERS)

    def echo(self, info: Any, select: str = "", value: Any = None) -> Any:
        return {"select": select, "value": value}

    def picked(self, info: Any, select: int = 0) -> Any:
        return USERS[str(select)]

    def createPost(self, info: Any, input: dict[str, Any]) -> Any:  # noqa: N802 - the service's own name
        self.written.append(("createPost", input))
        post = {"__typename": "Post", "id": "p3", "title": input["title"], "author": USERS[input["author"]]}
        return {"post": post}

    def deletePost(self, info: Any, id: str) -> bool:  # noqa: N802 - the service's own name
        self.written.append(("deletePost", id))
        return True

    def renameUser(self, info: Any, id: str, name: str) -> Any:  # noqa: N802 - the service's own name
        self.written.append(("renameUser", name))
        raise GraphQLError("no such right", extensions={"code": "FORBIDDEN"})


def resolve_field(value: Any, info: Any, /, **arguments: Any) -> Any:
    if isinstance(value, Root):
        return getattr(value, info.field_name)(info, **arguments)
    if info.field_name == "secret":
        raise GraphQLError("not for you")
    if info.field_name in ("posts", "best") and info.parent_type.name == "User":
        return [post for post in POSTS.values() if post["author"] is value]
    if info.field_name == "friends":
        return [user for user in USERS.values() if user is not value]
    return value.get(info.field_name)


class Service:
    def __init__(self, sdl: str = SDL) -> None:
        self.schema: GraphQLSchema = build_schema(sdl)
        self.root = Root()
        self.introspects = True

    def __call__(self, got: Got, handler: Handler) -> Reply:
        body = got.json
        if not self.introspects and "__schema" in body["query"]:
            return as_json({"errors": [{"message": "GraphQL introspection is not allowed"}]}, 400)
        result = graphql_sync(
            self.schema,
            body["query"],
            root_value=self.root,
            variable_values=body.get("variables"),
            operation_name=body.get("operationName"),
            field_resolver=resolve_field,
        )
        return as_json(result.formatted, 200 if result.data is not None else 400)


def source_of(loaded: Loaded) -> Source:
    config = loaded.config
    digest = loaded.document_digest
    return Source("src", "ws", "graphql", loaded.namespace, loaded.name, config, document_digest=digest)


def tool_of(loaded: Loaded, name: str) -> Tool:
    return next(tool for tool in loaded.tools if tool.path == f"{loaded.namespace}.{name}")
