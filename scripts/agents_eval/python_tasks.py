"""Ten tasks of an agent that writes Python."""

from __future__ import annotations

from collections import Counter
from statistics import median

from agents_eval.agent import Agent, Found, wanted
from agents_eval.github import GitHub
from agents_eval.google_calendar import GoogleCalendar
from agents_eval.jira import Jira
from agents_eval.shop import Shop
from agents_eval.slack import CHANNELS, Slack
from agents_eval.stripe import TODAY, Stripe, customer, invoice
from agents_eval.task import Tasks
from agents_eval.upstream import World

TASKS = Tasks("python", "P")
ALL = 'items = (await tools.$tool.all($arguments))["items"]\n'
PAGES_BY_CURSOR = """
items = []
while True:
    after = {"starting_after": items[-1]["id"]} if items else {}
    page = await tools.$tool(limit=100, **after)
    items += page["data"]
    if not page["has_more"]:
        break
"""
PAGES_BY_NUMBER = """
items, page = [], 1
while True:
    found = await tools.$tool($arguments, per_page=100, page=page)
    items += found
    page += 1
    if len(found) < 100:
        break
"""
CHARGES = wanted("stripe list charges", "getCharges", "chargesList", "listCharges")
POST = wanted("slack post message", "chatPostMessage")
SEARCH = wanted("jira search issues jql", "searchForIssuesUsingJql", then=["jira search for issues using jql get"])
CHANNEL_LIST = wanted("slack list channels", "conversationsList")


def every(agent: Agent, tool: Found, by_hand: str) -> list[str]:
    """Ways to read a whole list, in the order in which the agent tries them."""
    if tool.has_all:
        return [ALL]
    return [by_hand] if agent.was_told_of_all else [ALL, by_hand]


def token(tool: Found) -> str:
    return 'token="", ' if tool.wants_token else ""


@TASKS.add("Which Slack channels are active? The largest five.", Slack)
def list_channels(agent: Agent, world: World) -> bool:
    [channels] = agent.find(channels=CHANNEL_LIST)
    done = agent.attempt(
        """
r = await tools.$channels(${token}exclude_archived=True, limit=200)
top = sorted(r["channels"], key=lambda c: c["num_members"], reverse=True)[:5]
[(c["name"], c["num_members"]) for c in top]
""",
        channels=agent.see(channels, "exclude_archived").path,
        token=token(channels),
    )
    return len(done.value) == 5 and done.value[0][1] == max(
        (at * 13 + 5) % 40 for at, name in enumerate(CHANNELS) if not name.startswith("old-")
    )


@TASKS.add("Send everyone with an overdue invoice a direct message.", Stripe, Slack)
def remind_debtors(agent: Agent, world: World) -> bool:
    """The agent expects the connection to hold the credential, and leaves `token` out until it is asked for it."""
    invoices, lookup, direct, post = agent.find(
        invoices=wanted("stripe list invoices", "getInvoices", "invoicesList", "listInvoices"),
        lookup=wanted("slack lookup user by email", "lookupByEmail"),
        direct=wanted("slack open direct message", "conversationsOpen", then=["slack conversations open"]),
        post=POST,
    )
    start = """
import asyncio
r = await tools.$invoices(status="open", limit=100)
late = [i for i in r["data"] if i["due_date"] < $today]
"""
    step = """
    user = (await tools.$lookup(${t1}email=i["customer_email"]))["user"]
    channel = (await tools.$direct(${t2}users=user["id"]))["channel"]
    await tools.$post(${t3}channel=channel["id"], text=f"Invoice {i['number']} is overdue.")
"""
    loop = f"for i in late:{step}len(late)"
    together = f"async def remind(i):{step}await asyncio.gather(*[remind(i) for i in late])\nlen(late)"
    code = start + (together if agent.starts_together else loop)
    tools = {"invoices": agent.see(invoices, "status").path, "lookup": lookup.path, "direct": direct.path}
    first = agent.run(code, **tools, post=post.path, today=TODAY, t1="", t2="", t3="")
    if first.failed:
        tokens = {"t1": token(lookup), "t2": token(direct), "t3": token(post)}
        agent.attempt(code, **tools, post=post.path, today=TODAY, **tokens)
    late = [one for one in map(invoice, range(12)) if one["status"] == "open" and one["due_date"] < TODAY]
    return len(world.slack.posted) == len(late)


@TASKS.add("Who are our three best customers by what they paid?", Stripe)
def rank_customers(agent: Agent, world: World) -> bool:
    charges, customers = agent.find(
        charges=CHARGES,
        customers=wanted("stripe retrieve customer", "getCustomersCustomer", "customersRetrieve", "getCustomer"),
    )
    then = """
from collections import Counter
paid = Counter()
for c in items:
    if c["status"] == "succeeded":
        paid[c["customer"]] += c["amount"]
[((await tools.$customers(customer=who))["name"], amount) for who, amount in paid.most_common(3)]
"""
    ways = [f"{way}{then}" for way in every(agent, charges, PAGES_BY_CURSOR)]
    done = agent.attempt(*ways, tool=charges.path, arguments="", customers=customers.path)
    paid: Counter[str] = Counter()
    for one in world.stripe.charges:
        paid[one["customer"]] += one["amount"] * (one["status"] == "succeeded")
    return bool(done.value == [[customer(id)["name"], amount] for id, amount in paid.most_common(3)])


@TASKS.add("Make Jira tickets in WEB for the open bugs of acme/web from before 2025, without duplicates.", GitHub, Jira)
def copy_bugs(agent: Agent, world: World) -> bool:
    """Writes are started together if the agent has read that this asks a person once."""
    issues, search, create = agent.find(
        issues=wanted("github list repository issues", "listForRepo", then=["github repo issues list for repo"]),
        search=wanted(
            "jira search issues jql", "searchForIssuesUsingJql", then=["jira search for issues using jql get"]
        ),
        create=wanted("jira create issue", "createIssue"),
    )
    issues = agent.see(issues, "state", "labels")
    make = 'tools.$create(fields={"project": {"key": "WEB"}, "summary": i["title"], "issuetype": {"name": "Bug"}})'
    loop = f'made = []\nfor i in new:\n    made.append((await {make})["key"])\nmade'
    together = f"import asyncio\nmade = await asyncio.gather(*[{make} for i in new])\n[m['key'] for m in made]"
    then = """
known = await tools.$search(jql='project = WEB AND summary ~ "Crash"', fields=["summary"], maxResults=50)
titles = {i["fields"]["summary"] for i in known["issues"]}
new = [i for i in items if i["created_at"] < "2025" and i["title"] not in titles]
"""
    ending = together if agent.starts_together else loop
    ways = [f"{way}{then}{ending}" for way in every(agent, issues, PAGES_BY_NUMBER)]
    agent.attempt(
        *ways,
        tool=issues.path,
        arguments='owner="acme", repo="web", state="open", labels="bug"',
        search=agent.see(search, "jql", "fields").path,
        create=agent.see(create, "fields").path,
    )
    titles = [one["fields"]["summary"] for one in world.jira.issues.values()]
    return all(titles.count(f"Crash in part {number}") == 1 for number in range(1, 7))


@TASKS.add("Cancel my interview on 2026-03-04 and move the review to 15:00.", GoogleCalendar)
def change_meetings(agent: Agent, world: World) -> bool:
    events, delete, patch = agent.find(
        events=wanted("calendar list events", "eventsList"),
        delete=wanted("calendar delete event", "eventsDelete"),
        patch=wanted("calendar patch event", "eventsPatch", "eventsUpdate", then=["calendar update event"]),
    )
    code = """
day = "2026-03-04"
r = await tools.$events(calendarId="primary", timeMin=day + "T00:00:00Z", timeMax=day + "T23:59:00Z")
interview = $interview
review = $review
start, end = [{"dateTime": day + time, "timeZone": "UTC"} for time in ("T15:00:00", "T17:00:00")]
"""
    delete_it = 'tools.$delete(calendarId="primary", eventId=interview["id"])'
    move_it = 'tools.$patch(calendarId="primary", eventId=review["id"], start=start, end=end)'
    loop = f'await {delete_it}\nawait {move_it}\n"done"'
    together = f'import asyncio\nawait asyncio.gather({delete_it}, {move_it})\n"done"'
    code += together if agent.starts_together else loop
    tools = {
        "events": agent.see(events, "timeMin", "timeMax").path,
        "delete": delete.path,
        "patch": agent.see(patch, "start", "end").path,
    }
    names = {"interview": "Interview", "review": "Review"}
    lazy = {key: f'next(e for e in r["items"] if e["summary"] == "{name}")' for key, name in names.items()}
    eager = {key: f'[e for e in r["items"] if e["summary"] == "{name}"][0]' for key, name in names.items()}
    if not agent.steps_generators or agent.run(code, **tools, **lazy).failed:
        agent.attempt(code, **tools, **eager)
    return "ev44" not in world.calendar.events and "T15:00" in world.calendar.events["ev43"]["start"]["dateTime"]


@TASKS.add("Order twenty more of every product that is below its reorder point.", Shop)
def reorder(agent: Agent, world: World) -> bool:
    products, order = agent.find(
        products=wanted("shop list products", "shopProducts", "queryProducts"),
        order=wanted("shop reorder product", "reorderProduct"),
    )
    agent.attempt(
        """
import asyncio
low = [p for p in await tools.$products() if p["stock"] < p["reorderPoint"]]
await asyncio.gather(*[tools.$order(productId=p["id"], quantity=20) for p in low])
[p["name"] for p in low]
""",
        products=products.path,
        order=agent.see(order, "productId", "quantity").path,
    )
    low = [one["id"] for one in world.shop.all_products.values() if one["stock"] < one["reorderPoint"]]
    return sorted(one["product"]["id"] for one in world.shop.purchases) == sorted(low)


@TASKS.add("Post our balance to #payments.", Stripe, Slack)
def post_balance(agent: Agent, world: World) -> bool:
    balance, post = agent.find(balance=wanted("stripe retrieve balance", "getBalance", "balanceRetrieve"), post=POST)
    agent.attempt(
        """
b = await tools.$balance()
text = ", ".join(f"{m['amount'] / 100:.2f} {m['currency'].upper()}" for m in b["available"])
(await tools.$post(${token}channel="#payments", text=f"Available: {text}"))["ts"]
""",
        balance=balance.path,
        post=post.path,
        token=token(post),
    )
    return [one["text"] for one in world.slack.posted] == ["Available: 12043.10 EUR, 880.50 USD"]


@TASKS.add("Export all charges as CSV: id, created, amount, currency, status, customer.", Stripe)
def export_charges(agent: Agent, world: World) -> bool:
    [charges] = agent.find(charges=CHARGES)
    columns = 'columns = ["id", "created", "amount", "currency", "status", "customer"]\n'
    writer = """
import csv, io
out = io.StringIO()
w = csv.writer(out)
w.writerow(columns)
w.writerows([c[k] for k in columns] for c in items)
out.getvalue()
"""
    plain = r'"\n".join(",".join(str(v) for v in row) for row in [columns] + [[c[k] for k in columns] for c in items])'
    read = ALL if charges.has_all else PAGES_BY_CURSOR
    done = agent.attempt(f"{read}{columns}{writer}", f"{read}{columns}{plain}", tool=charges.path, arguments="")
    return "ch_0000" in done.text and ("ch_0229" in done.text or "artifact" in done.text)


@TASKS.add("How many repositories do I have by language, and the median of their stars?", GitHub)
def count_languages(agent: Agent, world: World) -> bool:
    [repositories] = agent.find(
        repositories=wanted(
            "github list my repositories",
            "listForAuthenticatedUser",
            then=["github list repositories for the authenticated user"],
        )
    )
    then = """
from collections import Counter
stars = [r["stargazers_count"] for r in items]
$first
{"by": dict(Counter(r["language"] or "none" for r in items)), "median": $median}
"""
    read = every(agent, repositories, PAGES_BY_NUMBER.replace("$arguments, ", ""))[-1]
    parts = {"tool": repositories.path, "arguments": ""}
    done = agent.run(read + then, **parts, first="import statistics", median="statistics.median(stars)")
    if done.failed:
        done = agent.attempt(read + then, **parts, first="stars.sort()", median="stars[len(stars) // 2]")
    repos = world.github.repositories
    by = Counter(one["language"] or "none" for one in repos)
    return bool(done.value == {"by": by, "median": median(one["stargazers_count"] for one in repos)})


@TASKS.add("Answer the open questions in #support with a link to the handbook, in their threads.", Slack)
def answer_questions(agent: Agent, world: World) -> bool:
    channels, history, post = agent.find(
        channels=CHANNEL_LIST,
        history=wanted("slack read channel history", "conversationsHistory", then=["slack conversations history"]),
        post=POST,
    )
    code = """
r = await tools.$channels(${t1}limit=200)
support = $support
h = await tools.$history(${t2}channel=support["id"])
asked = [m for m in h["messages"] if m["text"].endswith("?") and not m["reply_count"]]
"""
    reply = 'tools.$post(${t3}channel=support["id"], thread_ts=m["ts"], text="See https://handbook.example")'
    loop = f"for m in asked:\n    await {reply}\nlen(asked)"
    together = f"import asyncio\nawait asyncio.gather(*[{reply} for m in asked])\nlen(asked)"
    code += together if agent.starts_together else loop
    parts = {"channels": channels.path, "history": history.path, "post": agent.see(post, "thread_ts").path}
    parts |= {"t1": token(channels), "t2": token(history), "t3": token(post)}
    lazy = 'next((c for c in r["channels"] if c["name"] == "support"), None)'
    eager = '[c for c in r["channels"] if c["name"] == "support"][0]'
    if not agent.steps_generators or agent.run(code, **parts, support=lazy).failed:
        agent.attempt(code, **parts, support=eager)
    return len(world.slack.posted) == 3 and all(one["thread_ts"] for one in world.slack.posted)
