"""`POST /internal/runs/{run_id}/tool-call`: what a sandbox host says of one live run, and what it gets back.

The guard has found the run by its token. Every message may come twice; see `executor.runtime.remote.live_runs`.
"""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from executor.errors import MethodNotAllowed
from executor.runtime.remote import messages
from executor.runtime.remote.live_runs import LiveRun
from executor.surfaces.http.guard import RUN
from executor.surfaces.http.long_wait import LongWaits


async def tool_call(held: LongWaits, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["method"] != "POST":
        raise MethodNotAllowed(f"{scope['method']} is not allowed at this address", hint="use POST")
    run: LiveRun = scope[RUN]
    message = messages.loads(await Request(scope, receive).body())
    tidings = await held.hold(run.exchange(message))
    await Response(orjson.dumps(tidings), media_type="application/json")(scope, receive, send)
