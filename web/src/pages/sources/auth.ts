import type { Connection, Source } from "@/api/types";
import type { Tone } from "@/ui/badge";

/** Whether calls of a source will have the credential they need. Null where none is needed. */
export function authState(source: Source, known: Connection[]): { tone: Tone; text: string } | null {
  const mine = known.filter((one) => one.source === source.namespace);
  if (mine.some((one) => one.status === "ready")) return { tone: "ok", text: "has a credential" };
  if (mine.length > 0) return { tone: "bad", text: `credential ${mine[0]?.status}` };
  if (source.headers.length > 0) return { tone: "quiet", text: "own headers" };
  return source.auth.length > 0 ? { tone: "warn", text: "needs credential" } : null;
}
