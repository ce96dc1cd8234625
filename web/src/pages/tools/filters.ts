// Which tools of the manifest are wanted: all of it is in the address of the page.
import type { components } from "@/api/schema";

export type ManifestTool = components["schemas"]["ManifestTool"];
export const NAMES = ["q", "source", "effect", "policy"] as const;
export type Filters = Partial<Record<(typeof NAMES)[number], string>>;

/** Every word must be somewhere in the path or the description. */
export function wanted(tools: readonly ManifestTool[], filters: Filters): ManifestTool[] {
  const words = (filters.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  return tools.filter(
    (tool) =>
      (!filters.source || tool.source === filters.source) &&
      (!filters.effect || tool.effect === filters.effect) &&
      (!filters.policy || tool.policy.action === filters.policy) &&
      (words.length === 0 || hasAll(`${tool.path} ${tool.description}`.toLowerCase(), words)),
  );
}

function hasAll(text: string, words: string[]): boolean {
  return words.every((word) => text.includes(word));
}

export const count = (filters: Filters) => NAMES.filter((name) => filters[name]).length;
