"""Small schemas in the manner of large services, and a service that makes up answers for any schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphql import (
    DocumentNode,
    GraphQLError,
    build_schema,
    get_named_type,
    get_nullable_type,
    graphql_sync,
    is_abstract_type,
    is_enum_type,
    is_list_type,
    is_object_type,
    parse,
)

from tests.sources.upstream import Got, Handler, Reply, as_json

PAGE_INFO = "type PageInfo { startCursor: String hasPreviousPage: Boolean! hasNextPage: Boolean! endCursor: String }"

FORGE = (
    PAGE_INFO
    + '''
scalar DateTime
scalar URI
enum Visibility { PUBLIC PRIVATE }
enum IssueState { OPEN CLOSED }
interface Actor { avatarUrl: URI! login: String! resourcePath: URI! url: URI! }
type User implements Actor {
  avatarUrl: URI! bio: String email: String! id: ID! login: String! name: String resourcePath: URI! url: URI!
  """Sponsorship figures. Visible to organization owners and admins."""
  sponsorsIncome: Int!
  repositories(after: String, first: Int, last: Int): RepositoryConnection!
}
type Organization implements Actor {
  avatarUrl: URI! id: ID! login: String! name: String resourcePath: URI! url: URI! description: String
  """The SAML identity provider. Visible to (1) organization owners, (2) tokens with read:org or admin:org scope."""
  samlIdentityProvider: IdentityProvider
}
type IdentityProvider { id: ID! idpCertificate: String }
type Language { color: String id: ID! name: String! }
type Label { color: String! id: ID! name: String! url: URI! }
type LabelConnection { edges: [LabelEdge] nodes: [Label] pageInfo: PageInfo! totalCount: Int! }
type LabelEdge { cursor: String! node: Label }
type Guidelines { body: String resourcePath: URI url: URI }
type Repository {
  allowUpdateBranch: Boolean!
  archivedAt: DateTime
  autoMergeAllowed: Boolean!
  body: String
  contributingGuidelines: Guidelines
  createdAt: DateTime!
  databaseId: Int
  deleteBranchOnMerge: Boolean!
  description: String
  descriptionHTML: String!
  diskUsage: Int
  forkCount: Int!
  hasDiscussionsEnabled: Boolean!
  hasIssuesEnabled: Boolean!
  hasProjectsEnabled: Boolean!
  hasSponsorshipsEnabled: Boolean!
  hasVulnerabilityAlertsEnabled: Boolean!
  hasWikiEnabled: Boolean!
  homepageUrl: URI
  id: ID!
  isArchived: Boolean!
  isBlankIssuesEnabled: Boolean!
  isDisabled: Boolean!
  isEmpty: Boolean!
  isFork: Boolean!
  isInOrganization: Boolean!
  isLocked: Boolean!
  isMirror: Boolean!
  isPrivate: Boolean!
  issues(after: String, first: Int, last: Int, states: [IssueState!]): IssueConnection!
  issue(number: Int!): Issue
  labels(after: String, first: Int): LabelConnection
  name: String!
  nameWithOwner: String!
  openGraphImageUrl: URI!
  owner: Actor!
  primaryLanguage: Language
  pushedAt: DateTime
  resourcePath: URI!
  sshUrl: String!
  stargazerCount: Int!
  updatedAt: DateTime!
  url: URI!
  viewerCanAdminister: Boolean!
  viewerHasStarred: Boolean!
  visibility: Visibility!
  watchers: Int @deprecated(reason: "use stargazerCount")
}
type RepositoryConnection { nodes: [Repository] pageInfo: PageInfo! totalCount: Int! }
type Issue {
  author: Actor body: String! bodyHTML: String! bodyText: String! createdAt: DateTime! id: ID! number: Int!
  labels(after: String, first: Int): LabelConnection
  repository: Repository! state: IssueState! title: String! url: URI!
}
type IssueConnection { edges: [IssueEdge] nodes: [Issue] pageInfo: PageInfo! totalCount: Int! }
type IssueEdge { cursor: String! node: Issue }
union SearchResultItem = Issue | Repository | User
type SearchResultItemConnection { nodes: [SearchResultItem] pageInfo: PageInfo! repositoryCount: Int! }
type CreateIssuePayload { clientMutationId: String issue: Issue query: Query }
type Query {
  viewer: User!
  repository(owner: String!, name: String!): Repository
  search(query: String!, first: Int, after: String): SearchResultItemConnection!
}
type Mutation { createIssue(title: String!): CreateIssuePayload createUser(login: String!): User! }
'''
)

TRACKER = (
    PAGE_INFO
    + '''
scalar DateTime
scalar TimelessDate
type WorkflowState { color: String! createdAt: DateTime! id: ID! name: String! type: String! }
"""A team. Teams can be public (visible to all members) or private (visible only to team members and admins)."""
type Team { createdAt: DateTime! id: ID! key: String! name: String! private: Boolean! }
type Person { displayName: String! email: String! id: ID! name: String! url: String! }
type Project { id: ID! name: String! content: String }
type IssueLabel { color: String! id: ID! name: String! }
type IssueLabelConnection { edges: [IssueLabelEdge!]! nodes: [IssueLabel!]! pageInfo: PageInfo! }
type IssueLabelEdge { cursor: String! node: IssueLabel! }
"""[Internal] What a bot did."""
type Activity { id: ID! }
type ActorBot { id: ID name: String }
type Issue {
  """[Internal] The activity summary of the issue."""
  activitySummary: String
  addedToCycleAt: DateTime
  """[Internal] The activity."""
  activity: Activity
  asksExternalUserRequester: ActorBot
  asksRequester: ActorBot
  assignee: Person
  botActor: ActorBot
  branchName: String!
  children: ActorBot
  comments(after: String, first: Int): IssueConnection!
  completedAt: DateTime
  creator: Person
  description: String
  """[Internal] The description as YJS state."""
  descriptionState: String
  dueDate: TimelessDate
  id: ID!
  identifier: String!
  labels(after: String, first: Int = 50): IssueLabelConnection!
  number: Float!
  priority: Float!
  project: Project
  """[ALPHA] The release."""
  release: Project
  state: WorkflowState!
  team: Team!
  title: String!
  url: String!
}
type IssueConnection { edges: [IssueEdge!]! nodes: [Issue!]! pageInfo: PageInfo! }
type IssueEdge { cursor: String! node: Issue! }
type IssuePayload { lastSyncId: Float! success: Boolean! issue: Issue }
type Webhook { id: ID! label: String url: String secret: String }
type Query {
  issues(after: String, before: String, first: Int, last: Int): IssueConnection!
  issue(id: String!): Issue!
  webhooks: [Webhook!]!
}
type Mutation { issueCreate(title: String!): IssuePayload! }
type Subscription { issueCreated: Issue! issueUpdated: Issue! issueRemoved: Issue! }
'''
)

SHOP = (
    PAGE_INFO
    + '''
scalar JSONString
type Money { currency: String! amount: Float! fractionalAmount: Int! }
type TaxedMoney { currency: String! gross: Money! net: Money! }
type Refund { id: ID! amount: Int @deprecated(reason: "no") currency: String! price: Money! reason: String }
type Fee { id: ID! amount: Money! currency: String! label: String }
type MetadataItem { key: String! value: String! }
"""Represents a product type."""
type ProductType { id: ID! name: String! slug: String! }
type Product {
  id: ID!
  """List of private metadata items. Requires staff permissions to access."""
  privateMetadata: [MetadataItem!]!
  """
  Private metadata. Requires staff permissions to access. Use `keys` to control which fields you want to include.
  """
  privateMetafields(keys: [String!]): JSONString
  """List of public metadata items. Can be accessed without permissions."""
  metadata: [MetadataItem!]!
  name: String!
  """Internal representation of a product name."""
  slug: String!
  description: JSONString
  """
  The cost.

  Requires one of the following permissions: MANAGE_PRODUCTS.
  """
  cost: Money!
  """A margin in percent."""
  margin: Int!
  price: TaxedMoney
  productType: ProductType!
}
type ProductCountableConnection { pageInfo: PageInfo! edges: [ProductCountableEdge!]! totalCount: Int }
type ProductCountableEdge { node: Product! cursor: String! }
type Error { field: String message: String code: String }
type ProductCreate { errors: [Error!]! product: Product }
type Query {
  products(first: Int, after: String, last: Int, before: String): ProductCountableConnection
  product(id: ID!): Product
  refund(id: ID!): Refund
  fee(id: ID!): Fee
}
type Mutation { productCreate(name: String!): ProductCreate }
'''
)

SCALARS: dict[str, Any] = {"Int": 1, "Float": 1.5, "Boolean": True}


class MadeUp:
    """`values` are answers by `Type.field`, or functions of its arguments; `denied` are refusals by `Type.field`.

    `refuse` is asked before anything is executed, as a service does that judges the whole document first.
    """

    def __init__(self, sdl: str) -> None:
        self.schema = build_schema(sdl)
        self.values: dict[str, Any] = {}
        self.denied: dict[str, str | GraphQLError] = {}
        self.refuse: Callable[[DocumentNode], list[dict[str, Any]]] = lambda document: []
        self.queries: list[str] = []

    def __call__(self, got: Got, handler: Handler) -> Reply:
        body = got.json
        if "__schema" not in body["query"]:
            self.queries.append(body["query"])
            if errors := self.refuse(parse(body["query"])):
                return as_json({"errors": errors})
        result = graphql_sync(
            self.schema,
            body["query"],
            variable_values=body.get("variables"),
            field_resolver=self.resolve,
            type_resolver=lambda value, info, type: (
                value.get("__typename") or info.schema.get_possible_types(type)[0].name
            ),
        )
        return as_json(result.formatted)

    def resolve(self, value: Any, info: Any, /, **arguments: Any) -> Any:
        key = f"{info.parent_type.name}.{info.field_name}"
        if key in self.denied:
            why = self.denied[key]
            raise why if isinstance(why, GraphQLError) else GraphQLError(why)
        if isinstance(value, dict) and info.field_name in value:
            return value[info.field_name]
        if key in self.values:
            found = self.values[key]
            return found(**arguments) if callable(found) else found
        return made_up(info.return_type)


def name_type(value: dict[str, Any], info: Any, type: Any) -> str:
    name: str = value.get("__typename") or info.schema.get_possible_types(type)[0].name
    return name


def made_up(type: Any) -> Any:
    type = get_nullable_type(type)
    if is_list_type(type):
        return [made_up(type.of_type)]
    if is_object_type(type) or is_abstract_type(type):
        return {}
    if is_enum_type(type):
        return next(iter(type.values))
    return SCALARS.get(get_named_type(type).name, "text")
