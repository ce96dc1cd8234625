/** The one line of code that names a tool, counted from 0; null where none does, or several do. */
export function placeOf(lines: string[], tool: string): number | null {
  const names = spellings(tool);
  const found = lines.flatMap((line, index) => (names.some((name) => line.includes(name)) ? [index] : []));
  return found.length === 1 ? (found[0] ?? null) : null;
}

function spellings(tool: string): string[] {
  const last = tool.split(".").at(-1) ?? tool;
  return [`tools.${tool}`, `["${tool}"]`, `.${last}(`, `["${last}"]`];
}
