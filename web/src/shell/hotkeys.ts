import { useEffect, useRef } from "react";
import type { Key } from "./keymap";

export type Keys = Partial<Record<Key, (event: KeyboardEvent) => void>>;

const PATIENCE = 1500;
const MODIFIERS = ["Shift", "Control", "Meta", "Alt", "AltGraph", "CapsLock"];
const bound: { current: Keys }[] = [];
let begun = "";
let forgetting: ReturnType<typeof setTimeout> | undefined;

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable || target.shadowRoot !== null || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName)
  );
}

/** The first key of two: for a moment the next one belongs to it, and to nothing else. */
function begin(keys: string): void {
  clearTimeout(forgetting);
  begun = keys;
  if (keys) forgetting = setTimeout(() => begin(""), PATIENCE);
}

/** What was bound last wins: a page's own key over the frame's. */
function bindingOf(name: string) {
  for (let at = bound.length - 1; at >= 0; at -= 1) {
    const act = bound[at]?.current[name as Key];
    if (act) return act;
  }
  return undefined;
}

const isBeginning = (name: string) => bound.some((one) => Object.keys(one.current).some((key) => key.startsWith(name)));

function pressed(event: KeyboardEvent): void {
  if (event.altKey || event.defaultPrevented || MODIFIERS.includes(event.key)) return;
  const mod = event.ctrlKey || event.metaKey;
  if (!mod && (isTyping(event.target) || document.querySelector("dialog[open]"))) {
    begin("");
    return;
  }
  const earlier = begun;
  const name = `${earlier}${mod ? "mod+" : ""}${event.key}`;
  const act = bindingOf(name);
  begin(!act && isBeginning(`${name} `) ? `${name} ` : "");
  if (act || begun || earlier) event.preventDefault();
  act?.(event);
}

/** Single keys, where no one types and no dialog is open; `g s` is one after the other. `mod+k` also holds while typing. */
export function useHotkeys(keys: Keys, active = true): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    if (!active) return;
    if (bound.length === 0) addEventListener("keydown", pressed);
    bound.push(current);
    return () => {
      bound.splice(bound.indexOf(current), 1);
      if (bound.length === 0) removeEventListener("keydown", pressed);
    };
  }, [active]);
}
