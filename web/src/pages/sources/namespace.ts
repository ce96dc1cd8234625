/** The namespace that was found, or the first with a number that no other source has. */
export function freeNamespace(found: string, taken: string[]): string {
  if (!found || !taken.includes(found)) return found;
  let number = 2;
  while (taken.includes(`${found}${number}`)) number += 1;
  return `${found}${number}`;
}
