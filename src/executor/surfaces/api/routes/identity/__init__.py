"""Routes for the people and programs that use Executor: keys, members, workspaces, sign-in."""
