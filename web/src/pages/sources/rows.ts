import type { Effect, ToolHead } from "@/api/types";

export type Listed = Pick<ToolHead, "path" | "description"> & { effect: Effect; deprecated?: boolean };
export type Row =
  | { kind: "group"; group: string; count: number; open: boolean }
  | { kind: "tool"; tool: Listed; depth: number; label: string };

/** Tools under the group that their path names; one without a group stands for itself. */
export function rows(tools: readonly Listed[], closed: ReadonlySet<string>): Row[] {
  const groups = new Map<string, Listed[]>();
  for (const tool of tools) {
    const group = tool.path.split(".").slice(1, -1).join(".");
    const known = groups.get(group);
    if (known) known.push(tool);
    else groups.set(group, [tool]);
  }
  const made: Row[] = [];
  for (const [group, members] of groups) {
    const open = !closed.has(group);
    if (group) made.push({ kind: "group", group, count: members.length, open });
    if (open)
      for (const tool of members) made.push({ kind: "tool", tool, depth: group ? 1 : 0, label: lastOf(tool.path) });
  }
  return made;
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}
