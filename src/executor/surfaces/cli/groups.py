"""Command groups that suggest what was probably meant."""

from __future__ import annotations

import click

from executor.surfaces.cli.options import JSON


class SuggestingGroup(click.Group):
    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Each command takes `--json`, without saying so itself."""
        cmd.params.append(JSON)
        super().add_command(cmd, name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            raise click.UsageError(f"No such command {args[0]!r}.{_suggestion(args[0], names)}", ctx)
        return super().resolve_command(ctx, args)


def _suggestion(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1)
    return f" Did you mean {near[0]!r}?" if near else f" The commands are: {', '.join(names)}."
