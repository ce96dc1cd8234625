"""The suite starts this as "the client". It hands the scenario to the test, which drives a daemon, and waits.

Dozens are started at once, so it imports little.
"""

import json
import os
import socket
import sys

with socket.create_connection(("127.0.0.1", int(os.environ["CONFORMANCE_DRIVER"]))) as driver:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    driver.sendall(json.dumps({"url": sys.argv[-1], "context": context}).encode() + b"\n")
    while said := driver.recv(65536):
        sys.stdout.buffer.write(said)
