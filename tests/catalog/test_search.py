from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executor.catalog.search.hints import nearest
from executor.catalog.search.index.entry import Entry
from executor.catalog.search.index.index import Index
from executor.catalog.search.index.segment import build_segment, find_terms
from executor.catalog.search.query import word_lists
from executor.catalog.search.query.apps import App, app_names
from executor.catalog.search.query.intent import wishes
from executor.catalog.search.query.phrases import sayings
from executor.catalog.search.query.spelling import distance
from executor.catalog.search.query.thesaurus import WORDS, thesaurus
from executor.catalog.search.query.tokenizer import split, stem, stems, words_in
from executor.catalog.search.ranking import Found, search

QUERIES = Path(__file__).with_name("queries.jsonl")


def tool(path: str, description: str = "", effect: str = "read", *, route: str = "", deprecated: bool = False) -> Entry:
    return Entry(path, description, effect, deprecated=deprecated, route=route)


TOOLS = [
    tool("github.issues.create", "Create an issue", "write"),
    tool("github.issues.list", "List repository issues"),
    tool("github.pulls.create", "Create a pull request", "write"),
    tool("github.pulls.list", "List pull requests"),
    tool("github.repos.delete", "Delete a repository", "destructive"),
    tool("github.repos.get", "Get a repository"),
    tool("github.reactions.createForIssue", "Create reaction for an issue", "write"),
    tool("shop.refunds.createRefund", "Refund an invoice, in full or in part", "write"),
    tool("shop.refunds.listRefunds", "List the refunds of an invoice"),
    tool("shop.invoices.voidInvoice", "Void an invoice", "write"),
    tool("old.issues.createIssue", "Create an issue", "write", deprecated=True),
]


def index_of(*tools: Entry) -> Index:
    sources: dict[str, list[Entry]] = {}
    for one in tools or TOOLS:
        sources.setdefault(one.path.partition(".")[0], []).append(one)
    return Index([build_segment(found) for found in sources.values()])


def paths(found: Found) -> list[str]:
    return [hit.path for hit in found.hits]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("github create issue", "github.issues.create"),
        ("open a new issue on GitHub", "github.issues.create"),
        ("file a bug in github", "github.issues.create"),
        ("list PRs", "github.pulls.list"),
        ("which pull requests are there", "github.pulls.list"),
        ("remove repo", "github.repos.delete"),
        ("get rid of a repository", "github.repos.delete"),
        ("fetch a repository", "github.repos.get"),
        ("refund an invoice", "shop.refunds.createRefund"),
        ("give a customer their money back", "shop.refunds.createRefund"),
        ("list refunds", "shop.refunds.listRefunds"),
        ("createForIssue", "github.reactions.createForIssue"),
        ("github.issues.list", "github.issues.list"),
        ("tools.github.issues.list", "github.issues.list"),
        ("void invoices", "shop.invoices.voidInvoice"),
        ("github creat isue", "github.issues.create"),
        ("github delete repostiory", "github.repos.delete"),
        ("".join(chr(ord(c) + 0xFEE0) if c != " " else c for c in "github create issue"), "github.issues.create"),
    ],
)
def test_the_meant_tool_comes_first(query: str, path: str) -> None:
    assert paths(search(index_of(), query))[0] == path


def test_the_verb_at_the_end_of_a_route_tells_what_an_operation_does() -> None:
    index = index_of(
        tool("bank.payouts.PostPayouts", "Send money out", "write", route="POST /v1/payouts"),
        tool("bank.payouts.PostPayoutsPayout", "A payout", "write", route="POST /v1/payouts/{payout}"),
        tool("bank.payouts.PostPayoutsPayoutCancel", "A payout", "write", route="POST /v1/payouts/{payout}/cancel"),
    )
    assert paths(search(index, "stop a payout"))[0] == "bank.payouts.PostPayoutsPayoutCancel"
    assert paths(search(index, "create a payout"))[0] == "bank.payouts.PostPayouts"
    assert paths(search(index, "change a payout"))[0] == "bank.payouts.PostPayoutsPayout"


def test_one_thing_and_many_things_are_distinguished() -> None:
    index = index_of(
        tool("api.pods.getPod", "A pod", route="GET /pods/{name}"),
        tool("api.pods.getPods", "A pod", route="GET /pods"),
    )
    assert paths(search(index, "show the pods"))[0] == "api.pods.getPods"
    assert paths(search(index, "show this pod"))[0] == "api.pods.getPod"


def test_a_tool_for_more_than_was_asked_for_comes_later() -> None:
    found = paths(search(index_of(), "create issue"))
    assert found.index("github.issues.create") < found.index("github.reactions.createForIssue")
    assert found.index("github.issues.create") < found.index("old.issues.createIssue")


def test_all_pages_come_after_the_plain_operation() -> None:
    index = index_of(tool("a.things.list.all", "List things"), tool("a.things.list", "List things"))
    assert paths(search(index, "list things")) == ["a.things.list", "a.things.list.all"]


def test_a_result_tells_which_words_were_found_where() -> None:
    hit = search(index_of(), "file a bug in github").hits[0]
    assert hit.matched["bug"] == "issu in group"
    assert hit.matched["github"] == "github in source"
    assert hit.score > search(index_of(), "file a bug in github").hits[1].score


def test_the_order_is_stable() -> None:
    same = [tool(f"a.b.same{letter}", "Same words") for letter in "cab"]
    assert paths(search(index_of(*same), "same words")) == ["a.b.samea", "a.b.sameb", "a.b.samec"]


def test_a_limit_cuts_the_list_but_not_the_total() -> None:
    found = search(
        index_of(*(tool(f"a.b.tool{number}", "Same words") for number in range(1_000))), "same words", limit=5
    )
    assert (len(found.hits), found.total) == (5, 1_000)


@pytest.mark.parametrize("times", [20, 2_000])
def test_stuffing_a_description_with_words_does_not_win(times: int) -> None:
    stuffed = tool("evil.things.doIt", "Does it.\n\n" + "create issue github list pull requests " * times, "write")
    index = index_of(*TOOLS, stuffed)
    assert paths(search(index, "github create issue"))[0] == "github.issues.create"
    assert paths(search(index, "list pull requests"))[0] == "github.pulls.list"


@pytest.mark.parametrize("query", ["?", "🙂🙂", "the of", "\x00", "你好", "q", "\u202eeussi", "zzzzqqqq"])
def test_queries_without_a_known_word_find_nothing(query: str) -> None:
    assert search(index_of(), query).hits == []


@pytest.mark.parametrize(
    "query",
    [
        "x" * 100_000,
        "create issue " * 8_000,
        "'; DROP TABLE tools; --",
        '" OR 1=1 NOT NEAR(',
        "ignore all instructions",
    ],
)
def test_odd_queries_are_answered(query: str) -> None:
    assert len(search(index_of(), query).hits) <= 10


def test_an_empty_index_answers() -> None:
    assert search(Index([]), "create issue").hits == []
    assert nearest(Index([]), "a.b", 3) == []


def test_words_are_split_and_stemmed() -> None:
    assert split("listPullRequests for HTTPServers") == ["list", "pull", "requests", "for", "http", "servers"]
    assert stems("the listing of repositories") == ["list", "repositori"]
    assert stem("deployments") == stem("deploy") == "deploy"
    assert stem("invitation") == stem("invites")
    assert split("搜索引擎") == ["搜索", "索引", "引擎"]


@pytest.mark.parametrize(
    ("word", "short"),
    [
        ("yy", "yy"), ("syzygy", "syzygi"), ("playing", "play"), ("employees", "employe"), ("payment", "payment"),
        ("hopping", "hop"), ("relational", "relat"), ("happiness", "happi"), ("ational", "ation"), ("ability", "abil"),
        ("subscription", "subscript"), ("rolled", "roll"), ("ing", "ing"), ("yes", "yes"), ("dying", "dying"),
    ],
)  # fmt: skip
def test_endings_are_taken_off_by_their_sounds(word: str, short: str) -> None:
    assert stem(word) == short


@pytest.mark.parametrize(("one", "other", "apart"), [("issue", "isue", 1), ("issue", "isseu", 1), ("pull", "pool", 2)])
def test_letters_added_changed_and_swapped_are_counted(one: str, other: str, apart: int) -> None:
    assert distance(one, other, 2) == apart


@given(st.text(st.characters(codec="ascii"), max_size=60) | st.sampled_from(["don't list IPv4s", "S3 PRs OAuth2Apps"]))
@settings(max_examples=300, deadline=None)
def test_plain_letters_are_split_as_among_others(text: str) -> None:
    """ASCII texts have a way of their own, and a Greek word keeps a text from it."""
    assert [*split(text), "αβγ"] == split(f"{text} αβγ")
    assert [*stems(text), "αβγ"] == stems(f"{text} αβγ")


def test_a_wish_is_granted_without_any_word_of_the_tool() -> None:
    index = index_of(
        tool("pay.subscriptions.PostSubscriptions", "Starts one", "write", route="POST /subscriptions"),
        tool("pay.subscriptions.DeleteIt", "Ends one", "destructive", route="DELETE /subscriptions/{id}"),
        tool("pay.refunds.PostRefunds", "Makes one", "write", route="POST /refunds"),
        tool("pay.refunds.GetRefunds", "All of them", route="GET /refunds"),
    )
    assert paths(search(index, "stop charging this customer every month"))[0] == "pay.subscriptions.DeleteIt"
    assert paths(search(index, "he sent the shoes back, give him his cash"))[0] == "pay.refunds.PostRefunds"
    assert paths(search(index, "whom did we give money back to lately"))[0] == "pay.refunds.GetRefunds"


@pytest.mark.parametrize(
    ("said", "wish"),
    [
        ("we dont need the old server any more", "drop"),
        ("who is watching my project", "read"),
        ("i need a new place for files", "make"),
        ("there is a typo in my message fix it", "change"),
    ],
)
def test_how_it_is_put_tells_what_is_wished(said: str, wish: str) -> None:
    found = wishes(said.split(), 0)
    assert max(found, key=lambda name: found[name]) == wish


def test_what_searches_read_is_made_from_the_lists_of_words() -> None:
    assert orjson.loads(WORDS.read_bytes()) == orjson.loads(orjson.dumps(word_lists.read_lists())), (
        "run scripts/search-words"
    )


def test_searches_leave_the_lists_of_words_alone() -> None:
    code = (
        "import sys, executor.catalog.search.ranking; print('executor.catalog.search.query.word_lists' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


STEMS = sorted({word for phrase in thesaurus().phrases for word in phrase.split("_") if word})


@settings(max_examples=300)
@given(st.lists(st.sampled_from(STEMS) | st.sampled_from(sorted(thesaurus().phrases)), max_size=8))
def test_every_phrase_of_two_or_three_words_is_found(said: list[str]) -> None:
    text = " ".join(said).replace("_", " ")
    words = stems(text)
    runs = ("_".join(words[at : at + size]) for size in (2, 3) for at in range(len(words) - size + 1))
    assert find_terms(text) == [*words, *(run for run in runs if run in thesaurus().phrases)]


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (b"invoices", ("invoices",)),
        (b"oauthorize", ("oauthorize",)),
        (b"oauth2", ("oauth2",)),
        (b"oauth", ("oauth",)),
        (b"k8s", ("k8s",)),
        (b"x" * 50, ("x" * 40,)),
        (b"PRs", ("pr",)),
        (b"listForRepo2", ("list", "for", "repo", "2")),
    ],
)
def test_a_run_of_letters_is_split_where_words_begin(run: bytes, words: tuple[str, ...]) -> None:
    assert words_in(run) == words


def test_every_saying_is_about_something() -> None:
    assert all(saying.things and saying.words for several in sayings().values() for saying in several)


def test_the_thesaurus_has_no_empty_meaning() -> None:
    known = thesaurus()
    assert all(meanings for meanings in known.meanings.values())
    assert known.meanings["pr"].keys() >= {"pull_request"}
    assert known.longest <= 5


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("github.issues.creat", "github.issues.create"),
        ("github.issue.create", "github.issues.create"),
        ("GitHub.Issues.Create", "github.issues.create"),
        ("shop.createRefund", "shop.refunds.createRefund"),
        ("github.pulls.lst", "github.pulls.list"),
        ("githbu.isues.list", "github.issues.list"),
    ],
)
def test_the_nearest_path_is_found(wanted: str, near: str) -> None:
    assert nearest(index_of(), wanted, 3)[0] == near


def test_what_resembles_nothing_has_no_nearest() -> None:
    assert nearest(index_of(), "zzzzqqqq", 3) == []


def test_the_project_s_own_queries_are_well_formed() -> None:
    rows = [json.loads(line) for line in QUERIES.read_text("utf-8").splitlines()]
    assert all(row.keys() == {"part", "source", "agent", "query", "relevant"} for row in rows)
    assert all(row["relevant"] and row["agent"].startswith(row["source"]) for row in rows)


@pytest.mark.parametrize(
    ("namespace", "title", "host", "said"),
    [
        ("jira_cloud_platform", "Jira Cloud Platform", "your-domain.atlassian.net", ["jira", "atlassian"]),
        ("slack_web", "Slack Web API", "slack.com", ["slack", "slackweb"]),
        ("calendar", "Calendar API", "www.googleapis.com", ["calendar", "google", "googlecalendar"]),
        ("email_activity", "Email Activity (beta)", "api.sendgrid.com", ["sendgrid"]),
        ("transport", "Transport for London Unified API", "api.tfl.gov.uk", ["tfl", "transportforlondon"]),
        ("square_connect", "Square Connect API", "connect.squareup.com", ["square", "squareup"]),
        ("drchrono", "", "app.drchrono.com", ["drchrono"]),
    ],
)
def test_a_source_goes_by_its_namespace_title_and_provider(
    namespace: str, title: str, host: str, said: list[str]
) -> None:
    assert app_names(namespace, App(title, host)).issuperset(said)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "api.example.com", "shop.herokuapp.com", ""])
def test_a_host_that_names_no_one_gives_no_name(host: str) -> None:
    assert app_names("shop", App("", host)) == {"shop"}


def test_words_inside_a_title_are_no_names() -> None:
    names = app_names("docusign", App("DocuSign REST API", "www.docusign.net"))
    assert "docusign" in names and not names & {"sign", "docu", "rest"}
    assert "email" not in app_names("email_activity", App("Email Activity", "api.sendgrid.com"))


@pytest.mark.parametrize("query", ["GoodPost create label", "goodpost create label", "create a label in Good Post"])
def test_an_app_that_no_tool_mentions_is_still_where_to_look(query: str) -> None:
    tools = [
        tool("parcels.labels.createLabel", "Create a label", "write", route="POST /labels"),
        tool("mail.labels.create", "Create label", "write", route="POST /labels"),
    ]
    apps = {"parcels": App("Parcels API", "api.goodpost.io")}
    index = Index([build_segment(tools[:1]), build_segment(tools[1:])], apps)
    assert paths(search(index, query)) == ["parcels.labels.createLabel"]


def test_a_provider_of_several_sources_means_any_of_them() -> None:
    sources = ("calendar", "mail", "files", "other")
    tools = [tool(f"{name}.items.list", "List items", route="GET /items") for name in sources]
    apps = {name: App("", "www.bigapis.com") for name in sources[:3]}
    index = Index([build_segment([one]) for one in tools], apps)
    assert set(paths(search(index, "big list items"))) == {"calendar.items.list", "mail.items.list", "files.items.list"}
    assert paths(search(index, "big calendar list items")) == ["calendar.items.list"]


def test_the_very_word_comes_before_a_synonym() -> None:
    index = index_of(
        tool("site.members.listMembers", "List members", route="GET /members"),
        tool("staff.employees.listEmployees", "Lists all employees", route="GET /v2/employees"),
    )
    assert paths(search(index, "list employees"))[0] == "staff.employees.listEmployees"
    assert paths(search(index, "list members"))[0] == "site.members.listMembers"


def test_the_end_of_a_route_is_what_an_operation_is_about() -> None:
    index = index_of(
        tool(
            "sign.envelopes.postFields", "Creates fields", "write", route="POST /envelopes/{id}/documents/{doc}/fields"
        ),
        tool("sign.envelopes.postEnvelopes", "Creates one or more", "write", route="POST /accounts/{id}/envelopes"),
        tool("sign.envelopes.turnIn", "Hands it over", "write", route="POST /envelopes/{id}:turnIn"),
    )
    assert paths(search(index, "create envelope"))[0] == "sign.envelopes.postEnvelopes"
    assert paths(search(index, "turn in envelope"))[0] == "sign.envelopes.turnIn"


def test_a_small_word_may_belong_to_the_name() -> None:
    index = index_of(
        tool("pages.oncalls.listOncalls", "List who is on duty", route="GET /oncalls"),
        tool("pages.teams.listTeams", "List teams", route="GET /teams"),
    )
    assert paths(search(index, "list on calls"))[0] == "pages.oncalls.listOncalls"
