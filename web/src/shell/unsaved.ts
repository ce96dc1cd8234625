import { useBlocker } from "@tanstack/react-router";

/** Ask before what was typed is lost: by going to another page, or by closing the tab. */
export function useUnsaved(dirty: boolean): void {
  useBlocker({
    shouldBlockFn: ({ current, next }) =>
      dirty && current.pathname !== next.pathname && !window.confirm("Your changes are not saved. Leave anyway?"),
    enableBeforeUnload: () => dirty,
    disabled: !dirty,
  });
}
