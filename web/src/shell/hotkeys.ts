import { useEffect, useRef } from "react";

export type Keys = Record<string, (event: KeyboardEvent) => void>;

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable || target.shadowRoot !== null || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName)
  );
}

/** Single keys, where nobody types and no dialog is open. `mod+k` also holds while typing. */
export function useHotkeys(keys: Keys, active = true): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    if (!active) return;
    const pressed = (event: KeyboardEvent) => {
      const mod = event.ctrlKey || event.metaKey;
      const act = current.current[`${mod ? "mod+" : ""}${event.key}`];
      if (!act || event.altKey || event.defaultPrevented) return;
      if (!mod && (isTyping(event.target) || document.querySelector("dialog[open]"))) return;
      event.preventDefault();
      act(event);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [active]);
}
