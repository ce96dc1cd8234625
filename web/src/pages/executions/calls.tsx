import { useNavigate, useSearch } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { Execution } from "@/api/types";
import { useHotkeys } from "@/shell/hotkeys";
import { between, duration } from "@/text/time";
import { visible } from "@/text/visible";
import { EffectBadge } from "@/ui/badge";
import { useNow } from "@/ui/time";
import { OneCall } from "./call";
import type { CallHead } from "./queries";
import { LOOKS, look } from "./timeline/bars";
import { SIGNS } from "./timeline/sign";

const HEIGHT = 34;

/** All calls as rows, of which only those in sight are in the document, and the open one below them. */
export function Calls({ execution }: { execution: Execution }) {
  const { call } = useSearch({ from: "/shell/executions/$id" });
  const navigate = useNavigate({ from: "/executions/$id" });
  const heads = (execution.heads ?? []) as CallHead[];
  const index = heads.findIndex((one) => String(one.seq) === call);
  const open = (seq: number | undefined) =>
    void navigate({
      search: (before) => ({ ...before, tab: "calls", call: seq === undefined ? undefined : String(seq) }),
      replace: true,
      resetScroll: false,
    });
  useHotkeys({
    j: () => open(heads[Math.min(heads.length - 1, index + 1)]?.seq),
    k: () => open(heads[Math.max(0, index - 1)]?.seq),
  });
  if (heads.length === 0) return <p className="py-3 text-dim text-sm">No calls.</p>;
  const opened = heads[index];
  return (
    <>
      <Rows heads={heads} at={index} onOpen={(seq) => open(String(seq) === call ? undefined : seq)} />
      {opened && <OneCall key={opened.seq} execution={execution} head={opened} onClose={() => open(undefined)} />}
    </>
  );
}

type RowsProps = { heads: CallHead[]; at: number; onOpen: (seq: number) => void };

function Rows({ heads, at, onOpen }: RowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: heads.length,
    getScrollElement: () => box.current,
    estimateSize: () => HEIGHT,
    overscan: 8,
  });
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at, { align: "auto" });
  }, [at, virtual]);
  return (
    <div ref={box} className="-mx-2 max-h-80 overflow-y-auto">
      <ul aria-label="Calls" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const head = heads[item.index];
          return (
            head && (
              <li
                key={head.seq}
                aria-posinset={item.index + 1}
                aria-setsize={heads.length}
                className="absolute inset-x-0 top-0"
                style={{ height: item.size, transform: `translateY(${item.start}px)` }}
              >
                <Row head={head} open={item.index === at} onOpen={() => onOpen(head.seq)} />
              </li>
            )
          );
        })}
      </ul>
    </div>
  );
}

function Row({ head, open, onOpen }: { head: CallHead; open: boolean; onOpen: () => void }) {
  const seen = look(head);
  return (
    <button
      type="button"
      aria-expanded={open}
      onClick={onOpen}
      className={`flex h-full w-full items-center gap-2 rounded-lg px-2 text-left text-sm outline-offset-[-2px] hover:bg-raised ${open ? "bg-accent-soft" : ""}`}
    >
      <span className="w-7 shrink-0 text-right text-dim text-xs tabular-nums">{head.seq}</span>
      <span
        className={`mark mark-${seen} inline-flex shrink-0 items-center gap-1.5 overflow-hidden whitespace-nowrap rounded border-transparent px-1.5 py-0.5 text-xs sm:w-32`}
      >
        <span aria-hidden="true">{SIGNS[seen]}</span>
        <span className="sr-only sm:not-sr-only">{LOOKS[seen]}</span>
      </span>
      <code className="min-w-0 shrink truncate font-mono text-xs">{visible(head.path || head.kind)}</code>
      <span className="hidden min-w-0 flex-1 truncate font-mono text-dim text-xs md:block">
        {head.kind === "tool" && visible(head.preview)}
      </span>
      <span className="ml-auto flex shrink-0 items-center gap-2 text-dim text-xs tabular-nums">
        {head.effect !== "read" && head.kind === "tool" && <EffectBadge effect={head.effect} />}
        <Took head={head} />
      </span>
    </button>
  );
}

function Took({ head }: { head: CallHead }) {
  const now = useNow();
  if (head.state === "abandoned") return null;
  return <span>{duration(between(head.startedAt ?? head.createdAt, head.finishedAt, now))}</span>;
}
