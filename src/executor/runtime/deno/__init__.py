"""The `deno` runtime: V8 in one hardened process per execution, for heavy computation and `Intl`.

Nothing is imported here: the process that seals itself and becomes Deno imports this package too.
"""
