import type { Effect, ToolHead } from "@/api/types";

export type Listed = Pick<ToolHead, "path" | "description"> & { effect: Effect; deprecated?: boolean };
export type Row =
  | { kind: "group"; key: string; label: string; count: number; open: boolean; depth: number }
  | { kind: "tool"; key: string; tool: Listed; label: string; depth: number };

type Branch = { key: string; label: string; count: number; branches: Map<string, Branch>; tools: Listed[] };

/** Tools under the groups that their paths name, in their order; a group with nothing but one group joins with it. */
export function rows(tools: readonly Listed[], closed: ReadonlySet<string>): Row[] {
  const made: Row[] = [];
  spread(grown(tools), closed, 0, made);
  return made;
}

function grown(tools: readonly Listed[]): Branch {
  const root: Branch = { key: "", label: "", count: 0, branches: new Map(), tools: [] };
  for (const tool of tools) {
    let branch = root;
    for (const part of tool.path.split(".").slice(1, -1)) {
      let next = branch.branches.get(part);
      if (!next) {
        next = {
          key: branch.key ? `${branch.key}.${part}` : part,
          label: part,
          count: 0,
          branches: new Map(),
          tools: [],
        };
        branch.branches.set(part, next);
      }
      next.count += 1;
      branch = next;
    }
    branch.tools.push(tool);
  }
  return root;
}

function spread(branch: Branch, closed: ReadonlySet<string>, depth: number, made: Row[]): void {
  for (const tool of branch.tools) made.push({ kind: "tool", key: tool.path, tool, label: lastOf(tool.path), depth });
  for (const one of branch.branches.values()) {
    const { branch: group, label } = joined(one);
    const open = !closed.has(group.key);
    made.push({ kind: "group", key: group.key, label, count: group.count, open, depth });
    if (open) spread(group, closed, depth + 1, made);
  }
}

function joined(branch: Branch): { branch: Branch; label: string } {
  let last = branch;
  let label = branch.label;
  while (last.tools.length === 0 && last.branches.size === 1) {
    const [only] = last.branches.values();
    if (!only) break;
    last = only;
    label = `${label}.${only.label}`;
  }
  return { branch: last, label };
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/** Where a key leads from a row, or null for a key that does not move. */
export function moved(shown: readonly Row[], from: number, key: string): number | null {
  const last = shown.length - 1;
  switch (key) {
    case "ArrowDown":
      return Math.min(last, from + 1);
    case "ArrowUp":
      return Math.max(0, from - 1);
    case "PageDown":
      return Math.min(last, from + 15);
    case "PageUp":
      return Math.max(0, from - 15);
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return null;
  }
}

/** The group that a row belongs to. */
export function parentOf(shown: readonly Row[], from: number): number {
  const depth = shown[from]?.depth ?? 0;
  for (let at = from - 1; at >= 0; at -= 1) if ((shown[at]?.depth ?? 0) < depth) return at;
  return from;
}

/** The next row whose name begins with what was typed, from the top again after the end. */
export function named(shown: readonly Row[], from: number, typed: string): number | null {
  const wanted = typed.toLowerCase();
  for (let step = typed.length > 1 ? 0 : 1; step <= shown.length; step += 1) {
    const at = (from + step) % shown.length;
    if (shown[at]?.label.toLowerCase().startsWith(wanted)) return at;
  }
  return null;
}
