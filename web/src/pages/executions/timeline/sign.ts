import type { Look } from "./bars";

// Colour is never alone: each outcome has a sign and a pattern of its own.
export const SIGNS: Record<Look, string> = {
  waiting: "‖",
  running: "▸",
  sleeping: "◷",
  succeeded: "✓",
  failed: "✕",
  denied: "⊘",
  abandoned: "–",
};
