// How the entries of every menu look.
export const MENU = "card menu z-40 min-w-56 max-w-80 p-1.5";
export const ITEM =
  "flex cursor-pointer select-none items-center gap-2.5 rounded-md px-2 py-1.5 text-sm outline-none data-[highlighted]:bg-raised";
export const HEADING = "px-2 pt-1.5 pb-1 text-dim text-xs";
export const SEPARATOR = "my-1.5 h-px bg-line";
