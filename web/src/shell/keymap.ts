import { PLACES, type Place } from "./places";

// Every key there is. `useHotkeys` takes no other, so the help can't leave one out.
const OWN = {
  Everywhere: {
    "mod+k": "Go anywhere: pages, tools, executions, actions",
    "/": "Search on this page",
    "?": "Show keyboard shortcuts",
    Escape: "Close, clear the search, or step back",
  },
  Approvals: {
    j: "Next request",
    ArrowDown: "Next request",
    k: "Previous request",
    ArrowUp: "Previous request",
    o: "Open the request, like Enter",
    a: "Allow once: needs a second key",
    y: "… this one",
    n: "Cancel",
    d: "Deny: write a reason, then Enter",
  },
  "Executions and calls": {
    j: "Next",
    k: "Previous",
  },
  Playground: {
    "mod+Enter": "Run the code",
    "mod+i": "Find a tool and insert its call",
  },
} as const;

type Own = typeof OWN;
export type Key = { [Where in keyof Own]: keyof Own[Where] }[keyof Own] | `g ${Place["key"]}`;

const GOING = Object.fromEntries(PLACES.map((place) => [`g ${place.key}`, place.title]));

export const KEYMAP: Record<string, Record<string, string>> = {
  Everywhere: OWN.Everywhere,
  "Go to": GOING,
  Approvals: OWN.Approvals,
  "Executions and calls": OWN["Executions and calls"],
  Playground: OWN.Playground,
};

const MAC = /Mac|iPhone|iPad/.test(navigator.userAgent);
const SIGNS: Record<string, string> = {
  ArrowDown: "↓",
  ArrowUp: "↑",
  Escape: "Esc",
  Enter: "Enter",
  mod: MAC ? "⌘" : "Ctrl",
};

/** The keys of one binding as they are written on a keyboard. */
export function strokes(key: string): string[] {
  const parts = key === "/" ? [key] : key.split(/[ +]/);
  return parts.map(
    (part) => SIGNS[part] ?? (part.length === 1 && part !== "?" && part !== "/" ? part.toUpperCase() : part),
  );
}
