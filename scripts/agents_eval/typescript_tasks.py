"""Ten tasks of an agent that writes TypeScript."""

from __future__ import annotations

from collections import Counter

from agents_eval.agent import Agent, Found, wanted
from agents_eval.everything import Everything
from agents_eval.github import GitHub
from agents_eval.google_calendar import DAY, MEETINGS, GoogleCalendar
from agents_eval.jira import Jira
from agents_eval.shop import Shop
from agents_eval.slack import Slack
from agents_eval.stripe import DISPUTED, Stripe, charge
from agents_eval.task import Tasks
from agents_eval.twilio import ACCOUNT, NUMBERS, Twilio
from agents_eval.upstream import World

TASKS = Tasks("typescript", "T")
ALL = "const {items} = await tools.$tool.all({$arguments})\n"
PAGES_BY_CURSOR = """
const items = []
for (let after; ; ) {
  const page = await tools.$tool({limit: 100, ...(after && {starting_after: after})})
  items.push(...page.data)
  if (!page.has_more) break
  after = page.data.at(-1).id
}
"""
PAGES_BY_OFFSET = """
const items = []
for (let total = 1; items.length < total; ) {
  const page = await tools.$tool({$arguments, startAt: items.length, maxResults: 50})
  items.push(...page.issues)
  total = page.total
}
"""
PAGES_BY_NUMBER = """
const items = []
for (let page = 1; ; page++) {
  const found = await tools.$tool({$arguments, per_page: 100, page})
  items.push(...found)
  if (found.length < 100) break
}
"""


def every(agent: Agent, tool: Found, by_hand: str) -> list[str]:
    """Ways to read a whole list, in the order in which the agent tries them."""
    if tool.has_all:
        return [ALL]
    return [by_hand] if agent.was_told_of_all else [ALL, by_hand]


def token(tool: Found) -> str:
    return 'token: "", ' if tool.wants_token else ""


@TASKS.add("Who reported the open bugs of acme/web, and how many each?", GitHub)
def count_bugs(agent: Agent, world: World) -> bool:
    [issues] = agent.find(
        issues=wanted("github list repository issues", "listForRepo", then=["github repo issues list for repo"])
    )
    issues = agent.see(issues, "owner", "repo", "state", "labels")
    then = """
const by = {}
for (const one of items) by[one.user.login] = (by[one.user.login] ?? 0) + 1
return by
"""
    given = 'owner: "acme", repo: "web", state: "open", labels: "bug"'
    ways = [f"{way}{then}" for way in every(agent, issues, PAGES_BY_NUMBER)]
    done = agent.attempt(*ways, tool=issues.path, arguments=given)
    bugs = [one for one in world.github.issues if one["state"] == "open" and one["labels"][0]["name"] == "bug"]
    return bool(done.value == Counter(one["user"]["login"] for one in bugs))


@TASKS.add("Open an issue about the broken login in acme/web, and comment on it that you are on it.", GitHub)
def report_bug(agent: Agent, world: World) -> bool:
    create, comment = agent.find(
        create=wanted("github create issue", "issuesCreate"),
        comment=wanted("github create issue comment", "createComment", then=["github issues create comment"]),
    )
    agent.attempt(
        """
const made = await tools.$create({owner: "acme", repo: "web", title: "Login is broken", body: "500 on /login"})
await tools.$comment({owner: "acme", repo: "web", issue_number: made.number, body: "I am on it."})
return made.number
""",
        create=create.path,
        comment=agent.see(comment, "issue_number", "body").path,
    )
    made, comments = world.github.issues[-1], world.github.comments
    return bool(made["title"] == "Login is broken" and [one["issue"] for one in comments] == [made["number"]])


@TASKS.add("How much did failed charges in euros add up to?", Stripe)
def sum_failed(agent: Agent, world: World) -> bool:
    [charges] = agent.find(charges=wanted("stripe list charges", "getCharges", "chargesList", "listCharges"))
    then = """
const failed = items.filter(one => one.status === "failed" && one.currency === "eur")
return failed.reduce((sum, one) => sum + one.amount, 0)
"""
    ways = [f"{way}{then}" for way in every(agent, charges, PAGES_BY_CURSOR)]
    done = agent.attempt(*ways, tool=charges.path, arguments="")
    failed = [one for one in world.stripe.charges if one["status"] == "failed" and one["currency"] == "eur"]
    return bool(done.value == sum(one["amount"] for one in failed))


@TASKS.add("Refund the charge that is disputed as a duplicate, and tell #payments.", Stripe, Slack)
def refund_dispute(agent: Agent, world: World) -> bool:
    disputes, refund, post = agent.find(
        disputes=wanted("stripe list disputes", "getDisputes", "disputesList", "listDisputes"),
        refund=wanted("stripe create refund", "postRefunds", "createRefund", "refundsCreate"),
        post=wanted("slack post message", "chatPostMessage"),
    )
    agent.attempt(
        """
const {data} = await tools.$disputes({limit: 100})
const disputed = data.find(one => one.reason === "duplicate" && one.status === "needs_response")
const made = await tools.$refund({charge: disputed.charge})
await tools.$post({${token}channel: "#payments", text: "Refunded " + made.amount + " of " + disputed.charge})
return {refund: made.id, charge: disputed.charge}
""",
        disputes=disputes.path,
        refund=agent.see(refund, "charge").path,
        post=agent.see(post, "channel", "text").path,
        token=token(post),
    )
    said = [one["text"] for one in world.slack.posted]
    return [one["charge"] for one in world.stripe.refunds] == [DISPUTED] and said == [
        f"Refunded {charge(42)['amount']} of {DISPUTED}"
    ]


@TASKS.add("Move WEB-7 to Done and leave a comment that it was released.", Jira)
def finish_issue(agent: Agent, world: World) -> bool:
    """The agent knows that a comment has a `body`, and writes a text first. What is sent as the whole body it learns
    from the errors and the description."""
    transitions, move, comment = agent.find(
        transitions=wanted("jira get issue transitions", "getTransitions"),
        move=wanted("jira transition issue", "doTransition"),
        comment=wanted("jira add comment", "addComment"),
    )
    first = agent.run(
        """
const key = "WEB-7"
const {transitions} = await tools.$transitions({issueIdOrKey: key})
await tools.$move({issueIdOrKey: key, transition: {id: transitions.find(one => one.name === "Done").id}})
await tools.$comment({issueIdOrKey: key, body: "Released."})
return "done"
""",
        transitions=transitions.path,
        move=move.path,
        comment=comment.path,
    )
    text = '{type: "doc", version: 1, content: [{type: "paragraph", content: [{type: "text", text: "Released."}]}]}'
    add = "await tools.$comment({issueIdOrKey: 'WEB-7', body: $body})\nreturn 'done'"
    if first.failed and agent.run(add, comment=comment.path, body=text).failed:
        agent.attempt(add, comment=agent.describe(comment).path, body=f"{{body: {text}}}")
    return [key for key, _ in world.jira.comments] == ["WEB-7"] and world.jira.issues["WEB-7"]["fields"]["status"] == {
        "name": "Done"
    }


@TASKS.add("Assign all unassigned high priority issues of WEB to Ana.", Jira)
def assign_issues(agent: Agent, world: World) -> bool:
    search, people, assign = agent.find(
        search=wanted(
            "jira search issues jql", "searchForIssuesUsingJql", then=["jira search for issues using jql get"]
        ),
        people=wanted("jira find users", "findUsers", then=["jira search users"]),
        assign=wanted("jira assign issue", "assignIssue"),
    )
    then = """
const [ana] = await tools.$people({query: "Ana"})
await Promise.all(items.map(one => tools.$assign({issueIdOrKey: one.key, accountId: ana.accountId})))
return items.map(one => one.key)
"""
    ways = [f"{way}{then}" for way in every(agent, agent.see(search, "jql", "startAt"), PAGES_BY_OFFSET)]
    agent.attempt(
        *ways,
        tool=search.path,
        arguments="jql: 'project = WEB AND priority = High AND assignee is EMPTY'",
        people=agent.see(people, "query").path,
        assign=agent.see(assign, "accountId").path,
    )
    high = [one for one in world.jira.issues.values() if one["fields"]["priority"]["name"] == "High"]
    return all(one["fields"]["assignee"] for one in high)


@TASKS.add(f"What meetings do I have on {DAY}, and when is an hour free between 9 and 17?", GoogleCalendar)
def find_free_hour(agent: Agent, world: World) -> bool:
    events, busy = agent.find(
        events=wanted("calendar list events", "eventsList"),
        busy=wanted("calendar query free busy", "freebusyQuery", then=["calendar freebusy query"]),
    )
    done = agent.attempt(
        """
const timeMin = "$day" + "T09:00:00Z", timeMax = "$day" + "T17:00:00Z"
const {items} = await tools.$events({calendarId: "primary", timeMin, timeMax})
const {calendars} = await tools.$busy({timeMin, timeMax, items: [{id: "primary"}]})
let free = timeMin
for (const one of calendars.primary.busy) if (one.start <= free && one.end > free) free = one.end
return {meetings: items.map(one => one.summary), free}
""",
        day=DAY,
        events=agent.see(events, "timeMin", "timeMax").path,
        busy=agent.see(busy, "timeMin", "timeMax", "items").path,
    )
    return bool(done.value == {"meetings": [one[0] for one in MEETINGS], "free": f"{DAY}T13:00:00Z"})


@TASKS.add("Text +15005550001 from our number that the parcel is there.", Twilio)
def send_text(agent: Agent, world: World) -> bool:
    accounts, numbers, send = agent.find(
        accounts=wanted("twilio list accounts", "listAccount", then=["twilio fetch accounts of this login"]),
        numbers=wanted(
            "twilio list phone numbers",
            "listIncomingPhoneNumber",
            "incomingPhoneNumberList",
            then=["twilio list incoming numbers"],
        ),
        send=wanted("twilio send sms", "createMessage", then=["twilio create message"]),
    )
    agent.attempt(
        """
const {accounts} = await tools.$accounts({})
const AccountSid = accounts[0].sid
const {incoming_phone_numbers} = await tools.$numbers({AccountSid})
const from = incoming_phone_numbers.find(one => one.capabilities.sms)
const sent = await tools.$send({AccountSid, To: "+15005550001", From: from.phone_number, Body: "Your parcel is there."})
return sent.sid
""",
        accounts=accounts.path,
        numbers=numbers.path,
        send=agent.see(send, "To", "From", "Body").path,
    )
    return [one["from"] for one in world.twilio.sent] == [NUMBERS[0]] and ACCOUNT.startswith("AC")


@TASKS.add("Echo hello, add 19 and 23, and show me the tiny image.", Everything)
def try_server(agent: Agent, world: World) -> bool:
    echo, add, image = agent.find(
        echo=wanted("everything echo message", "echo"),
        add=wanted("everything sum two numbers", "getSum"),
        image=wanted("everything get tiny image", "getTinyImage"),
    )
    done = agent.attempt(
        """
const [echo, sum, image] = await Promise.all([
  tools.$echo({message: "hello"}), tools.$add({a: 19, b: 23}), tools.$image({})])
return {echo, sum, image}
""",
        echo=echo.path,
        add=add.path,
        image=image.path,
    )
    return "Echo: hello" in done.text and "is 42" in done.text and len(world.everything.called) == 3


@TASKS.add("Ship all paid orders with DHL.", Shop)
def ship_orders(agent: Agent, world: World) -> bool:
    orders, ship = agent.find(
        orders=wanted("shop list orders", "shopOrders", "queryOrders"),
        ship=wanted("shop ship order", "shipOrder"),
    )
    done = agent.attempt(
        """
const paid = await tools.$orders({status: "PAID"})
const shipped = await Promise.all(paid.map(one => tools.$ship({id: one.id, carrier: "DHL"})))
return shipped.map(one => [one.id, one.trackingNumber])
""",
        orders=agent.see(orders, "status").path,
        ship=ship.path,
    )
    return len(done.value) == 5 and not any(one["status"] == "PAID" for one in world.shop.all_orders.values())
