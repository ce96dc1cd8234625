/** An edit as the lines of a diff: what both texts share at their beginning and end is left out but for a few lines. */
export function editLines(before: string | null, after: string, around = 2): string[] {
  const differs = !!before && !!after && before.endsWith("\n") !== after.endsWith("\n");
  const old = linesOf(before ?? "", differs);
  const made = linesOf(after, differs);
  let start = 0;
  while (start < old.length && start < made.length && old[start] === made[start]) start += 1;
  let end = 0;
  const most = Math.min(old.length, made.length) - start;
  while (end < most && old[old.length - 1 - end] === made[made.length - 1 - end]) end += 1;
  const from = Math.max(0, start - around);
  const until = Math.max(0, end - around);
  return [
    ...(from > 0 ? [`@ ${from} lines above`] : []),
    ...made.slice(from, start).map((line) => ` ${line}`),
    ...old.slice(start, old.length - end).map((line) => `-${line}`),
    ...made.slice(start, made.length - end).map((line) => `+${line}`),
    ...made.slice(made.length - end, made.length - until).map((line) => ` ${line}`),
    ...(until > 0 ? [`@ ${until} lines below`] : []),
  ];
}

/** A newline ends a line and begins none. Where only one of two texts ends with one, `marks` shows which does not. */
function linesOf(text: string, marks: boolean): string[] {
  if (text === "") return [];
  if (text.endsWith("\n")) return text.slice(0, -1).split("\n");
  return [...text.split("\n"), ...(marks ? ["\\ No newline at the end"] : [])];
}

/** The parts of a git diff, one for each file. */
export function splitDiff(diff: string): { path: string; lines: string[] }[] {
  const parts: { path: string; lines: string[] }[] = [];
  for (const line of diff.split("\n")) {
    const head = /^diff --git a\/.* b\/(.*)$/.exec(line);
    if (head) parts.push({ path: head[1] ?? "", lines: [] });
    else parts.at(-1)?.lines.push(line);
  }
  return parts;
}
