import { isNested, write } from "@/api/json";
import { cut } from "@/text/cut";

export type Difference = { pointer: string; before?: string; after?: string };

const MOST = 30;
const LONGEST = 200;

/** What differs in the second of two JSON values, by its place; how many more there are, if not all are listed. */
export function differences(before: unknown, after: unknown): { found: Difference[]; more: number } {
  const found = [...each(before, after, "")];
  return { found: found.slice(0, MOST), more: Math.max(0, found.length - MOST) };
}

function* each(before: unknown, after: unknown, pointer: string): Generator<Difference> {
  if (write(before) === write(after) && (before === undefined) === (after === undefined)) return;
  if (isNested(before) && isNested(after) && Array.isArray(before) === Array.isArray(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      yield* each(before[name], after[name], `${pointer}/${name}`);
    return;
  }
  yield { pointer: pointer || "/", before: written(before), after: written(after) };
}

function written(value: unknown): string | undefined {
  return value === undefined ? undefined : cut(write(value), LONGEST);
}
