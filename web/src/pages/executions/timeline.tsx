import { useNavigate } from "@tanstack/react-router";
import type { Execution } from "@/api/types";
import { duration } from "@/text/time";
import { visible } from "@/text/visible";
import { useNow } from "@/ui/time";
import { type Bar, picture, scale } from "./lanes";

const LANE = 26;
const TONES: Record<string, string> = {
  succeeded: "bg-ok",
  failed: "bg-bad",
  started: "bg-accent animate-pulse",
  proposed: "bg-warn",
  abandoned: "bg-strong",
};

/** The calls of an execution over time; those that ran together lie in lanes of their own. */
export function Timeline({ execution }: { execution: Execution }) {
  const now = useNow();
  const calls = execution.calls ?? [];
  if (calls.length === 0) return null;
  const drawn = picture(
    calls,
    Date.parse(execution.createdAt),
    execution.finishedAt ? Date.parse(execution.finishedAt) : now,
  );
  const place = scale(drawn);
  return (
    <section aria-label="Timeline" className="card px-4 py-3">
      <h2 className="mb-2 font-medium text-sm">Timeline</h2>
      <div
        className="relative overflow-hidden rounded-lg bg-raised/60"
        style={{ height: Math.min(drawn.lanes, 12) * LANE + 8 }}
      >
        {drawn.bars
          .filter((bar) => bar.lane < 12)
          .map((bar) => (
            <Line key={bar.call.seq} bar={bar} place={place} />
          ))}
      </div>
      <div className="mt-1.5 flex flex-wrap justify-between gap-x-4 text-dim text-xs">
        <span>
          <span aria-hidden="true" className="hatched mr-1 inline-block h-2 w-4 rounded-sm" /> waiting
          <span aria-hidden="true" className="mr-1 ml-3 inline-block h-2 w-4 rounded-sm bg-ok" /> running
        </span>
        <span>{duration(drawn.end - drawn.begin)} in all, long gaps shortened</span>
      </div>
    </section>
  );
}

function Line({ bar, place }: { bar: Bar; place: (at: number) => number }) {
  const navigate = useNavigate({ from: "/executions/$id" });
  const { call } = bar;
  const left = place(bar.from);
  const began = place(bar.started ?? bar.to);
  const width = Math.max(place(bar.to) - left, 0.004);
  const waiting = Math.min(1, (began - left) / width);
  const took = duration(bar.to - (bar.started ?? bar.from));
  const label = `${call.seq}: ${visible(call.path || call.kind)}, ${call.state}, ${took}`;
  const open = () => void navigate({ search: (before) => ({ ...before, tab: "calls", call: String(call.seq) }) });
  return (
    <button
      type="button"
      onClick={open}
      aria-label={label}
      title={label}
      className="absolute flex min-w-1.5 items-center overflow-hidden rounded-md border border-line bg-surface"
      style={{ left: `${left * 100}%`, width: `${width * 100}%`, top: bar.lane * LANE + 5, height: LANE - 6 }}
    >
      <span aria-hidden="true" className="hatched h-full" style={{ width: `${waiting * 100}%` }} />
      <span aria-hidden="true" className={`h-full flex-1 opacity-80 ${TONES[call.state] ?? "bg-strong"}`} />
    </button>
  );
}
