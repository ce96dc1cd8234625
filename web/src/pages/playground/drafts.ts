// What was typed stays in this browser, for each person and each starting point, until they put it back themselves.
const PREFIX = "executor.draft.";
const MANY = 40;
const LONGEST = 200_000;

type Draft = { code: string; at: number };

export const draftName = (actor: string, start: string) => `${PREFIX}${actor}.${start}`;

function read(name: string): Draft | null {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(name) ?? "null");
    const draft = found as Draft | null;
    return typeof draft?.code === "string" ? draft : null;
  } catch {
    return null;
  }
}

export const draftOf = (name: string): string | null => read(name)?.code ?? null;

export function keepDraft(name: string, code: string): void {
  if (code.length > LONGEST) return;
  try {
    localStorage.setItem(name, JSON.stringify({ code, at: Date.now() }));
    forgetOldest();
  } catch {
    // storage is full or switched off: the editor itself still has it
  }
}

export function dropDraft(name: string): void {
  try {
    localStorage.removeItem(name);
  } catch {
    // there was none
  }
}

function forgetOldest(): void {
  const names = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX));
  if (names.length <= MANY) return;
  const byAge = names.sort((one, other) => (read(one)?.at ?? 0) - (read(other)?.at ?? 0));
  for (const name of byAge.slice(0, names.length - MANY)) localStorage.removeItem(name);
}
