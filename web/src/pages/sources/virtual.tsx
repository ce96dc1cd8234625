import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { moved, named, parentOf, type Row } from "./rows";
import { ToolRow } from "./toolrow";

type Props = {
  shown: Row[];
  found: boolean;
  total: number;
  current: string | undefined;
  onOpen: (path: string) => void;
  onTurn: (group: string) => void;
};

const HEIGHT = 34;
const TALL = 48;
const AHEAD = 30;
const PAUSE = 700;

/** Of all rows only those in sight, and enough around them that fast scrolling meets none that is not there yet. */
export function Virtual({ shown, found, total, current, onOpen, onTurn }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const at = Math.min(active, shown.length - 1);
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => (found ? TALL : HEIGHT),
    getItemKey: (index) => shown[index]?.key ?? index,
    overscan: AHEAD,
    rangeExtractor: (range) => {
      const seen = defaultRangeExtractor(range);
      return seen.includes(at) || at < 0 ? seen : [...seen, at].sort((one, other) => one - other);
    },
  });
  useEffect(() => {
    virtual.measure();
    if (found) virtual.scrollToOffset(0);
  }, [found, virtual]);
  const go = useFocus(box, (index) => virtual.scrollToIndex(index, { align: "auto" }), setActive);
  const key = useKeys(shown, go, onTurn);
  return (
    <>
      <div ref={box} className="card max-h-[min(70dvh,46rem)] overflow-y-auto overscroll-contain p-1">
        <ul aria-label="Tools" className="relative w-full" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = shown[item.index];
            return (
              row && (
                <li
                  key={item.key}
                  aria-posinset={item.index + 1}
                  aria-setsize={shown.length}
                  className="absolute inset-x-0 top-0 pb-0.5"
                  style={{ height: item.size, transform: `translateY(${item.start}px)` }}
                >
                  <ToolRow
                    row={row}
                    at={item.index}
                    found={found}
                    current={current}
                    tabbable={item.index === at}
                    onOpen={onOpen}
                    onTurn={onTurn}
                    onKey={key}
                    onFocus={setActive}
                  />
                </li>
              )
            );
          })}
        </ul>
      </div>
      <p role="status" className="mt-1.5 text-dim text-xs">
        {total.toLocaleString("en")} {total === 1 ? "tool" : "tools"}
      </p>
    </>
  );
}

/** Gives a row the focus once it is in the document. */
function useFocus(
  box: React.RefObject<HTMLDivElement | null>,
  scroll: (at: number) => void,
  setActive: (at: number) => void,
) {
  const wanted = useRef<number | null>(null);
  useEffect(() => {
    if (wanted.current === null) return;
    const row = box.current?.querySelector<HTMLElement>(`[data-row="${wanted.current}"]`);
    if (!row) return;
    wanted.current = null;
    row.focus({ preventScroll: true });
  });
  return (at: number) => {
    wanted.current = at;
    setActive(at);
    scroll(at);
  };
}

function useKeys(shown: Row[], go: (at: number) => void, onTurn: (group: string) => void) {
  const typed = useRef({ text: "", at: 0 });
  return (event: KeyboardEvent, from: number) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = shown[from];
    const next = moved(shown, from, event.key) ?? sideways(event.key, row, from);
    if (next !== null) {
      event.preventDefault();
      if (next !== from) go(next);
    } else if (/^[a-z0-9_]$/i.test(event.key)) {
      event.preventDefault();
      const fresh = event.timeStamp - typed.current.at > PAUSE;
      typed.current = { text: (fresh ? "" : typed.current.text) + event.key, at: event.timeStamp };
      const match = named(shown, from, typed.current.text);
      if (match !== null) go(match);
    }
  };

  function sideways(key: string, row: Row | undefined, from: number): number | null {
    if (key !== "ArrowRight" && key !== "ArrowLeft") return null;
    if (row?.kind === "group" && row.open === (key === "ArrowLeft")) {
      onTurn(row.key);
      return from;
    }
    if (key === "ArrowLeft") return parentOf(shown, from);
    return row?.kind === "group" ? Math.min(shown.length - 1, from + 1) : from;
  }
}
