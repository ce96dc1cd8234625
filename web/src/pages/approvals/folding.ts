// How much of the arguments is in view. Nothing can be allowed before all of it was.
import { useMemo, useState } from "react";
import { isNested, write } from "@/api/json";
import type { Interaction } from "@/api/types";

const MOST_LINES = 120;
const MOST_CHARACTERS = 6_000;
/** More than this is shown as one text: a browser would draw a tree of it for minutes. */
export const MOST_DRAWN = 4_000;

export function linesOf(value: unknown): number {
  return isNested(value) ? 1 + Object.values(value).reduce<number>((sum, one) => sum + linesOf(one), 0) : 1;
}

/** Too much to be taken in at a glance: it is folded at first. */
export function isLong(value: unknown): boolean {
  return linesOf(value) > MOST_LINES || write(value).length > MOST_CHARACTERS;
}

/** `unseen`: something of it was never in view, or can't be shown here at all. */
export function useFolding(asked: readonly Interaction[]) {
  const [unfolded, setUnfolded] = useState(false);
  const long = useMemo(() => isLong(asked.map((one) => one.arguments)), [asked]);
  const folded = long && !unfolded;
  const unseen = folded || asked.some((one) => one.argumentsCut);
  return { folded, unseen, unfold: () => setUnfolded(true) };
}
