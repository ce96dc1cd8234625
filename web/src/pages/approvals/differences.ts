export type Difference = { pointer: string; before?: string; after?: string };

const MOST = 30;

/** What is other in the second of two JSON values, by its place. */
export function differences(before: unknown, after: unknown, pointer = ""): Difference[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (isParent(before) && isParent(after) && Array.isArray(before) === Array.isArray(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    const found = names.flatMap((name) => differences(before[name], after[name], `${pointer}/${name}`));
    return found.slice(0, MOST);
  }
  return [{ pointer: pointer || "/", before: written(before), after: written(after) }];
}

function isParent(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function written(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value).slice(0, 200);
}
