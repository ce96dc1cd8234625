import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Maximize2, ZoomIn, ZoomOut } from "lucide-react";
import { useMemo, useState } from "react";
import type { Execution } from "@/api/types";
import { duration } from "@/text/time";
import { visible } from "@/text/visible";
import { IconButton } from "@/ui/button";
import { useNow } from "@/ui/time";
import { type CallHead, decisions, recoveries } from "../queries";
import { type Bar, describe, LOOKS, type Look, makeBars, type Part } from "./bars";
import { Chart } from "./chart";
import { LONG, makeScale, type Scale } from "./scale";
import { SIGNS } from "./sign";

/** The calls of an execution over time; those that ran together lie in lanes of their own. */
export function Timeline({ execution }: { execution: Execution }) {
  const id = execution.executionId;
  const now = useNow();
  const asked = useQuery(decisions(id)).data?.items;
  const events = useQuery(recoveries(id)).data?.items;
  const calls = (execution.heads ?? []) as CallHead[];
  const end = execution.finishedAt ? Date.parse(execution.finishedAt) : now;
  const { bars, scale } = useMemo(() => {
    const made = makeBars(
      calls,
      asked ?? [],
      (events ?? []).map((one) => Date.parse(one.at)),
      end,
    );
    const last = made.reduce(
      (latest, bar) => Math.max(latest, bar.to),
      Math.max(end, Date.parse(execution.createdAt) + 1),
    );
    const busy = made.flatMap((bar) => bar.parts.filter(isBusy));
    return { bars: made, scale: makeScale(busy, Date.parse(execution.createdAt), last) };
  }, [calls, asked, events, end, execution.createdAt]);
  if (bars.length === 0) return null;
  return <Drawn key={id} bars={bars} scale={scale} />;
}

/** What is drawn as long as it was: a short timer too, or it would vanish in what is shortened. */
function isBusy(part: Part): boolean {
  return part.kind === "running" || (part.kind === "sleeping" && part.to - part.from <= LONG);
}

function Drawn({ bars, scale }: { bars: Bar[]; scale: Scale }) {
  const { call } = useSearch({ from: "/shell/executions/$id" });
  const navigate = useNavigate({ from: "/executions/$id" });
  const [zoom, setZoom] = useState(1);
  const [pointed, setPointed] = useState<number>();
  const open = (seq: number) =>
    void navigate({ search: (before) => ({ ...before, tab: "calls", call: String(seq) }), resetScroll: false });
  const told = bars.find((bar) => bar.call.seq === (pointed ?? Number(call)));
  const shortened = scale.stretches.filter((one) => one.short);
  return (
    <section aria-label="Timeline" className="card px-4 py-3">
      <div className="mb-2 flex items-center gap-1">
        <h2 className="mr-auto font-medium text-sm">Timeline</h2>
        <IconButton label="Zoom out" disabled={zoom <= 1} onClick={() => setZoom(Math.max(1, zoom / 2))}>
          <ZoomOut size={14} aria-hidden="true" />
        </IconButton>
        <IconButton label="Zoom in" disabled={zoom >= 64} onClick={() => setZoom(zoom * 2)}>
          <ZoomIn size={14} aria-hidden="true" />
        </IconButton>
        <IconButton label="Show the whole width" disabled={zoom === 0.01} onClick={() => setZoom(0.01)}>
          <Maximize2 size={14} aria-hidden="true" />
        </IconButton>
      </div>
      <Chart
        bars={bars}
        scale={scale}
        zoom={zoom}
        current={Number(call) || undefined}
        onPoint={setPointed}
        onOpen={open}
      />
      <p aria-hidden="true" className="mt-1.5 min-h-5 truncate text-xs">
        {told ? (
          visible(describe(told))
        ) : (
          <span className="text-dim">Point at a call, or move with ← →; Enter opens it.</span>
        )}
      </p>
      <Legend bars={bars} />
      <p className="text-dim text-xs">
        {summary(bars, scale)}
        {shortened.length > 0 &&
          ` ${shortened.length === 1 ? "One stretch" : `${shortened.length} stretches`} without activity, ${duration(shortened.reduce((sum, one) => sum + one.to - one.from, 0))} in total, ${shortened.length === 1 ? "is" : "are"} shortened.`}
      </p>
    </section>
  );
}

/** The picture in a sentence, also for anyone who can't see it; each call is described in the list below. */
function summary(bars: Bar[], scale: Scale): string {
  const lanes = Math.max(...bars.map((bar) => bar.lane)) + 1;
  const together = lanes > 1 ? `up to ${lanes} at a time` : "one at a time";
  const timers = bars.filter((bar) => bar.call.kind === "timer").length;
  const calls = bars.length - timers;
  const said = [
    calls === 1 ? "One call" : `${calls} calls`,
    timers > 0 && (timers === 1 ? "one timer" : `${timers} timers`),
  ];
  const many = said.filter(Boolean).join(" and ");
  return `${many}${bars.length > 1 ? `, ${together},` : ""} in ${duration(scale.end - scale.begin)}.`;
}

function Legend({ bars }: { bars: Bar[] }) {
  const counted = new Map<Look, number>();
  for (const bar of bars) counted.set(bar.look, (counted.get(bar.look) ?? 0) + 1);
  const waited = bars.some((bar) => bar.parts.some((part) => part.kind === "waiting"));
  return (
    <ul aria-label="Legend" className="flex flex-wrap gap-x-4 gap-y-1 text-dim text-xs">
      {[...counted].map(([look, count]) => (
        <li key={look} className="flex items-center gap-1">
          <span
            aria-hidden="true"
            className={`mark mark-${look} inline-grid h-4 min-w-4 place-items-center rounded px-0.5 leading-none`}
          >
            {SIGNS[look]}
          </span>
          {count} {LOOKS[look]}
        </li>
      ))}
      {waited && (
        <li className="flex items-center gap-1">
          <span aria-hidden="true" className="hatched inline-block h-3 w-5 rounded-sm border border-line" /> time spent
          waiting for a person
        </li>
      )}
    </ul>
  );
}
