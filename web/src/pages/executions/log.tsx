import { useLayoutEffect, useRef, useState } from "react";
import type { LogLine } from "@/api/types";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";

const LEVELS: Record<string, string> = { warn: "text-warn", error: "text-bad", debug: "text-dim" };
const LAST = 500;

/** Stays at its end while lines come in, unless one has scrolled up to read. */
export function Log({ lines }: { lines: LogLine[] }) {
  const box = useRef<HTMLElement>(null);
  const [following, setFollowing] = useState(true);
  const [whole, setWhole] = useState(false);
  const first = useRef(0);
  const end = useRef(0);
  if (following) first.current = Math.max(0, lines.length - LAST); // lines that one reads stay where they are
  const shown = whole ? lines : lines.slice(first.current);
  const toEnd = () => {
    setFollowing(true);
    box.current?.scrollTo({ top: box.current.scrollHeight });
    end.current = box.current?.scrollTop ?? 0;
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new line moves the end
  useLayoutEffect(() => {
    if (!following || !box.current) return;
    const { scrollHeight, scrollTop, clientHeight } = box.current;
    // The browser reports scrolling later than it scrolls, and lines may come in between.
    if (scrollTop < Math.min(end.current, scrollHeight - clientHeight) - 24) setFollowing(false);
    else toEnd();
  }, [lines.length, following, whole]);
  const scrolled = () => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    setFollowing(scrollHeight - scrollTop - clientHeight < 24);
  };
  if (lines.length === 0) return <p className="py-3 text-dim text-sm">No log lines.</p>;
  return (
    <div className="relative">
      {shown.length < lines.length && (
        <Button size="small" look="ghost" onClick={() => setWhole(true)}>
          Show {lines.length - shown.length} earlier lines
        </Button>
      )}
      <section
        ref={box}
        aria-label="Log"
        aria-live="polite"
        tabIndex={0}
        onScroll={scrolled}
        className={`max-h-96 overflow-y-auto font-mono text-xs leading-5 ${following ? "[overflow-anchor:none]" : ""}`}
      >
        {shown.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines are only ever added at the end
          <div key={lines.length - shown.length + index} className="flex gap-3">
            <time className="hidden shrink-0 text-dim sm:inline">{line.at.slice(11, 23)}</time>
            <span className={`w-9 shrink-0 ${LEVELS[line.level] ?? "text-dim"}`}>{line.level}</span>
            <span className="min-w-0 whitespace-pre-wrap break-words [overflow-wrap:anywhere]">
              {visible(line.text, "\n\t")}
            </span>
          </div>
        ))}
      </section>
      {!following && (
        <div className="absolute right-3 bottom-2">
          <Button size="small" onClick={toEnd}>
            ↓ To the end
          </Button>
        </div>
      )}
    </div>
  );
}
