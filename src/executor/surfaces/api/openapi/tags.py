"""The groups of operations."""

from __future__ import annotations

TAGS: dict[str, str] = {
    "executions": "Run code, wait for it, and see what it did.",
    "artifacts": "Results that are too large for an answer.",
    "interactions": "What people must decide before a call continues.",
    "sources": "Connect APIs, MCP servers and modules.",
    "tools": "Find and describe what can be called.",
    "toolkits": "Named parts of the catalog, with keys and an MCP endpoint of their own.",
    "catalog": "Check and complete code; types and manifests of all tools.",
    "policies": "Which calls run, need approval or are denied.",
    "configuration": "Apply a configuration file.",
    "events": "Everything that happens in the workspace, as pages or live.",
    "audit": "Who did what, and whether the log is intact.",
    "secrets": "Store values that no route returns.",
    "model keys": "Keys of model providers, for sessions.",
    "connections": "The credentials of sources, and logins by OAuth.",
    "sessions": "Run coding agents in isolated processes.",
    "webhooks": "Messages to other services about events.",
    "identity": "People, agents, keys, workspaces and organizations.",
    "daemon": "The state of this daemon.",
}
