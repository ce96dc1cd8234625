import { isNested, write } from "@/api/json";

const MOST = 20;

/** The places where two JSON values are not the same, as pointers; the first twenty. */
export function differences(one: unknown, other: unknown, at = ""): string[] {
  if (write(one) === write(other)) return [];
  if (!isNested(one) || !isNested(other) || Array.isArray(one) !== Array.isArray(other))
    return [at || "the whole value"];
  const found: string[] = [];
  for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
    if (found.length >= MOST) break;
    found.push(...differences(one[name], other[name], `${at}/${name}`));
  }
  return found.slice(0, MOST);
}
