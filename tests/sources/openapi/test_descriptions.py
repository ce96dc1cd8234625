"""One text of a summary and a description: nothing is said twice, and both read well in one line."""

from __future__ import annotations

import pytest

from executor.sources.openapi.tools.descriptions import words
from tests.sources.openapi.documents import one_tool


@pytest.mark.parametrize(
    ("operation", "wanted"),
    [
        # FastAPI makes the summary of the function's name, and the description of its docstring.
        ({"operationId": "place_orders_post", "summary": "Place", "description": "Place an order."}, "Place an order."),
        (
            {"operationId": "create_book_books_post", "summary": "Create Book", "description": "Add one to the shelf."},
            "Add one to the shelf.",
        ),
        (
            {"operationId": "createBook", "summary": "Create book", "description": "Add one to the shelf."},
            "Add one to the shelf.",
        ),
        ({"summary": "List all users", "description": "List all users, newest."}, "List all users, newest."),
        ({"summary": "Refund it.", "description": "Refund it."}, "Refund it."),
        (
            {"operationId": "createBook", "summary": "Shelve a book", "description": "It is numbered.\n\nTwice."},
            "Shelve a book.\n\nIt is numbered.\n\nTwice.",
        ),
        ({"summary": "Is it open?", "description": "Of a shop."}, "Is it open?\n\nOf a shop."),
        ({"summary": "本を追加", "description": "棚に本を置きます。"}, "本を追加.\n\n棚に本を置きます。"),
        ({"operationId": "createBook", "summary": "Create Book"}, "Create Book"),
        ({"summary": "", "description": "Only this"}, "Only this"),
        ({"summary": 7, "description": ["x"]}, "GET /a"),
    ],
)  # fmt: skip
def test_a_summary_stays_only_where_it_says_more(operation: dict[str, object], wanted: str) -> None:
    assert one_tool("/a", operation).description == wanted


@pytest.mark.parametrize("text", ["getHTTPServer2Go", "list-for_repo", "A1bC", "", "  The API's ids "])
def test_words_are_the_same_beside_letters_of_other_alphabets(text: str) -> None:
    """Texts without any take a shorter way."""
    assert [*words(text), "ж"] == words(f"{text} ж")
