import { X } from "lucide-react";
import { command } from "@/text/code";
import { differences } from "@/text/differences";
import { visible } from "@/text/visible";
import { IconButton } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Trouble } from "@/ui/states";
import { Tree } from "@/ui/tree";
import type { Replay } from "./queries";

type Props = { id: string; report: Replay | undefined; error: unknown; onClose: () => void };

/** What running it again from its journal showed. */
export function ReplayOutcome({ id, report, error, onClose }: Props) {
  if (error) return <Trouble error={error} />;
  if (!report) return null;
  const tone = report.matches ? "border-ok/40 bg-ok-soft" : "border-bad/40 bg-bad-soft";
  return (
    <section aria-label="Replay" role="status" className={`rounded-xl border px-4 py-3 text-sm ${tone}`}>
      <div className="flex items-start gap-2">
        <p className={`min-w-0 flex-1 break-words font-medium ${report.matches ? "text-ok" : "text-bad"}`}>
          <span aria-hidden="true">{report.matches ? "✓" : "✕"}</span>{" "}
          {report.matches ? "Replay matches the recorded run" : "Replay differs from the recorded run"}:{" "}
          {visible(report.detail)}
        </p>
        <IconButton label="Close the replay" onClick={onClose}>
          <X size={14} aria-hidden="true" />
        </IconButton>
      </div>
      <p className="mt-1">Nothing was sent.</p>
      {report.difference && <Difference difference={report.difference} />}
      <div className="mt-3">
        <Command text={command("executions", "replay", id)} />
      </div>
    </section>
  );
}

function Difference({ difference }: { difference: NonNullable<Replay["difference"]> }) {
  const { call, recorded, replayed } = difference;
  const places = differences(recorded, replayed).found.map(({ pointer }) =>
    pointer === "/" ? "the whole value" : pointer,
  );
  const what = call === null ? "the outcome" : `call ${call}`;
  return (
    <div className="mt-3 space-y-3">
      <ul aria-label="What differs" className="space-y-0.5 font-mono text-xs">
        {places.map((place) => (
          <li key={place} className="break-words">
            <span aria-hidden="true">≠ </span>
            {visible(place)}
          </li>
        ))}
      </ul>
      <div className="grid min-w-0 gap-3 lg:grid-cols-2">
        <div className="min-w-0">
          <h3 className="mb-1 text-xs">Recorded: {what}</h3>
          <Tree value={recorded ?? null} label="recorded value" />
        </div>
        <div className="min-w-0">
          <h3 className="mb-1 text-xs">Replay</h3>
          <Tree value={replayed ?? null} label="replayed value" />
        </div>
      </div>
    </div>
  );
}
