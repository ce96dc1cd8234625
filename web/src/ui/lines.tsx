import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { visible } from "@/text/visible";

const LINE = 20;
const AHEAD = 400;

/** A long text: of its lines only those in sight are in the document. `onNear` is called close to the end. */
export function Lines({ lines, label, onNear }: { lines: string[]; label: string; onNear?: () => unknown }) {
  const box = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE,
    overscan: 40,
  });
  const items = virtual.getVirtualItems();
  const last = items[items.length - 1]?.index ?? 0;
  useEffect(() => {
    if (onNear && last > lines.length - AHEAD) void onNear();
  }, [onNear, last, lines.length]);
  return (
    <section
      ref={box}
      tabIndex={0}
      aria-label={label}
      className="h-[min(65dvh,44rem)] overflow-auto rounded-lg border border-line bg-raised/60 font-mono text-xs leading-5"
    >
      <div className="relative min-w-max" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => (
          <div
            key={item.key}
            className="absolute top-0 left-0 flex whitespace-pre"
            style={{ height: item.size, transform: `translateY(${item.start}px)` }}
          >
            <span aria-hidden="true" className="w-14 shrink-0 select-none pr-3 text-right text-dim">
              {item.index + 1}
            </span>
            <code>{visible(lines[item.index] ?? "", "\t")}</code>
          </div>
        ))}
      </div>
    </section>
  );
}
