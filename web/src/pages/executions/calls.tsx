import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Call, Execution } from "@/api/types";
import { between, duration } from "@/text/time";
import { visible } from "@/text/visible";
import { Badge, EffectBadge, type Tone } from "@/ui/badge";
import { useNow } from "@/ui/time";
import { Tree } from "@/ui/tree";

const STATES: Record<Call["state"], Tone> = {
  proposed: "warn",
  started: "accent",
  succeeded: "ok",
  failed: "bad",
  abandoned: "quiet",
};

export function Calls({ execution }: { execution: Execution }) {
  const { call } = useSearch({ from: "/shell/executions/$id" });
  const navigate = useNavigate({ from: "/executions/$id" });
  const calls = execution.calls ?? [];
  if (calls.length === 0) return <p className="py-3 text-dim text-sm">It called nothing.</p>;
  const turn = (seq: number, open: boolean) =>
    void navigate({ search: (before) => ({ ...before, call: open ? String(seq) : undefined }), replace: true });
  return (
    <ul className="divide-y divide-line">
      {calls.map((one) => (
        <li key={one.seq}>
          <details
            open={call === String(one.seq)}
            onToggle={(event) =>
              event.currentTarget.open !== (call === String(one.seq)) && turn(one.seq, event.currentTarget.open)
            }
          >
            <summary className="flex flex-wrap items-center gap-2 py-2 text-sm">
              <span className="w-6 text-dim text-xs tabular-nums">{one.seq}</span>
              <code className="min-w-0 break-words font-mono text-xs">{visible(one.path || one.kind)}</code>
              <EffectBadge effect={one.kind === "tool" ? one.effect : null} />
              <Badge tone={STATES[one.state]}>{one.state}</Badge>
              <span className="ml-auto text-dim text-xs tabular-nums">
                <Took call={one} />
              </span>
            </summary>
            <div className="grid min-w-0 gap-3 pb-3 lg:grid-cols-2">
              <Part title="Arguments" value={one.arguments} />
              <Part title={one.error ? "Error" : "Result"} value={one.error ?? one.result} />
            </div>
          </details>
        </li>
      ))}
    </ul>
  );
}

function Took({ call }: { call: Call }) {
  const now = useNow();
  return call.startedAt ? duration(between(call.startedAt, call.finishedAt, now)) : "";
}

function Part({ title, value }: { title: string; value: unknown }) {
  return (
    <div className="min-w-0">
      <h3 className="mb-1 text-dim text-xs">{title}</h3>
      <Tree value={value ?? null} label={title.toLowerCase()} />
    </div>
  );
}
