"""Examples of request bodies, by operation. A test checks each against the schema of its body."""

from __future__ import annotations

from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "executions_create": {
        "a sum": {"code": "return 1 + 1"},
        "a call": {
            "code": 'return await tools.shop.orders.listOrders({ status: "open" })',
            "language": "typescript",
            "timeoutMs": 60000,
            "wait": 30,
        },
    },
    "executions_resume": {"wait a minute": {"wait": 60}},
    "interactions_approve": {"once": {"scope": "once"}, "always": {"scope": "always"}},
    "interactions_deny": {"with a reason": {"reason": "use the test account"}},
    "interactions_answer": {"a form": {"action": "accept", "content": {"colour": "blue"}}},
    "sources_create": {
        "an OpenAPI document": {"location": "https://api.example.com/openapi.json", "namespace": "shop"},
        "an MCP server": {"kind": "mcp", "location": "https://mcp.example.com/mcp", "namespace": "notes"},
        "a command": {"kind": "mcp", "command": ["npx", "some-mcp-server"], "namespace": "files", "consent": True},
    },
    "sources_update": {
        "a name": {"name": "The shop"},
        "a look first": {"baseUrl": "https://b.example", "preview": True},
    },
    "policies_create": {
        "reads run": {"pattern": "shop.**", "action": "allow", "effect": "read"},
        "small refunds run": {
            "pattern": "shop.orders.refundOrder",
            "action": "allow",
            "conditions": [{"path": "/amount", "test": "at_most", "value": 20}],
        },
    },
    "policies_update": {"deny": {"action": "deny"}},
    "policies_test": {"a call": {"path": "shop.orders.refundOrder", "arguments": {"id": 7, "amount": 20}}},
    "secrets_create": {"a value of the environment": {"name": "shop", "provider": "environment", "reference": "SHOP"}},
    "connections_create": {"a stored secret": {"source": "shop", "secrets": {"token": "shop"}}},
    "webhooks_create": {
        "approvals": {"name": "approvals", "url": "https://hooks.example.com/x", "events": ["interaction.requested"]}
    },
    "sessions_create": {
        "a task": {"agent": "claude-code", "cwd": "/home/me/project", "prompt": "Fix the failing test"}
    },
    "sessions_prompt": {"and wait": {"prompt": "Now add a test", "wait": 60}},
}
