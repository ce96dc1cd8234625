import { useSyncExternalStore } from "react";
import { relative } from "@/text/time";

// One clock for the whole page; it ticks only while someone looks at it.
const watchers = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function watch(changed: () => void): () => void {
  watchers.add(changed);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of watchers) one();
  }, 1000);
  return () => {
    watchers.delete(changed);
    if (watchers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

export const useNow = () => useSyncExternalStore(watch, () => now);

export function Ago({ at }: { at: string | null | undefined }) {
  const current = useNow();
  if (!at) return <span className="text-dim">never</span>;
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()} className="whitespace-nowrap">
      {relative(at, Math.max(current, Date.now() - 1000))}
    </time>
  );
}
