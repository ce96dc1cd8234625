"""A GraphQL shop: orders to ship, products to order again."""

from __future__ import annotations

from typing import Any

from graphql import build_schema, graphql_sync

from agents_eval.service import Reply, Request, Service, route

SCHEMA = build_schema(
    """
    enum OrderStatus { PENDING PAID SHIPPED CANCELLED }
    type Money { amount: Float!, currency: String! }
    type Customer { id: ID!, name: String!, email: String }
    type Product { id: ID!, name: String!, stock: Int!, reorderPoint: Int!, price: Money! }
    type LineItem { product: Product!, quantity: Int! }
    type Order {
      id: ID!, status: OrderStatus!, customer: Customer!, total: Money!, items: [LineItem!]!, trackingNumber: String
    }
    type PurchaseOrder { id: ID!, product: Product!, quantity: Int! }
    type Query {
      "Orders of the shop, newest first"
      orders(status: OrderStatus, first: Int): [Order!]!
      "One order"
      order(id: ID!): Order
      "Products in the catalog"
      products(first: Int): [Product!]!
      "People who bought something"
      customers(first: Int): [Customer!]!
    }
    type Mutation {
      "Ship a paid order"
      shipOrder(id: ID!, carrier: String!): Order!
      "Cancel an order that was not shipped"
      cancelOrder(id: ID!, reason: String): Order!
      "Order more of a product from its supplier"
      reorderProduct(productId: ID!, quantity: Int!): PurchaseOrder!
      "Change the price of a product"
      setPrice(productId: ID!, amount: Float!): Product!
    }
    """
)
STATUSES = ("PAID", "SHIPPED", "PENDING")


class Shop(Service):
    name = "shop"
    namespace = "shop"  # its address alone says nothing

    def __init__(self) -> None:
        self.all_orders = {f"o{number}": order(number) for number in range(1, 18)}
        self.all_products = {f"p{number}": product(number) for number in range(1, 13)}
        self.purchases: list[dict[str, Any]] = []

    @route("POST", "/graphql")
    def run(self, request: Request) -> Reply:
        if not (request.body or {}).get("query"):
            return Reply({"errors": [{"message": "Must provide query string."}]}, 400)
        done = graphql_sync(
            SCHEMA,
            request.body["query"],
            root_value=self,
            variable_values=request.body.get("variables"),
            operation_name=request.body.get("operationName"),
        )
        return Reply(done.formatted)

    def orders(self, info: Any, status: str | None = None, first: int | None = None) -> list[Any]:
        return [one for one in self.all_orders.values() if status in (None, one["status"])][:first]

    def order(self, info: Any, id: str) -> Any:
        return self.all_orders.get(id)

    def products(self, info: Any, first: int | None = None) -> list[Any]:
        return list(self.all_products.values())[:first]

    def customers(self, info: Any, first: int | None = None) -> list[Any]:
        return [one["customer"] for one in self.all_orders.values()][:first]

    def shipOrder(self, info: Any, id: str, carrier: str) -> Any:  # noqa: N802 - the schema's name
        if self.all_orders[id]["status"] != "PAID":
            raise ValueError(f"order {id} is not paid")
        self.all_orders[id] |= {"status": "SHIPPED", "trackingNumber": f"{carrier}-{id}"}
        return self.all_orders[id]

    def reorderProduct(self, info: Any, productId: str, quantity: int) -> Any:  # noqa: N802, N803 - the schema's names
        made = {"id": f"po{len(self.purchases) + 1}", "product": self.all_products[productId], "quantity": quantity}
        self.purchases.append(made)
        return made


def order(number: int) -> dict[str, Any]:
    customer = {"id": f"c{number % 5}", "name": f"Customer {number % 5}", "email": f"c{number % 5}@acme.example"}
    return {
        "id": f"o{number}",
        "status": STATUSES[number % 3],
        "customer": customer,
        "total": {"amount": 10.5 * number, "currency": "EUR"},
        "items": [{"product": product(number % 12 + 1), "quantity": 1 + number % 3}],
        "trackingNumber": None,
    }


def product(number: int) -> dict[str, Any]:
    price = {"amount": 4.5 * number, "currency": "EUR"}
    return {"id": f"p{number}", "name": f"Lamp {number}", "stock": number * 5 % 17, "reorderPoint": 6, "price": price}
