import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { execution } from "@/api/queries";
import type { Call, Interaction } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge, EffectBadge, type Tone } from "@/ui/badge";
import { coloured, isBlank } from "@/ui/coloured";
import { placeOf } from "./place";

const STATES: Record<Call["state"], Tone> = {
  proposed: "warn",
  started: "accent",
  succeeded: "ok",
  failed: "bad",
  abandoned: "quiet",
};
const SHOWN = 6;

/** The calling code, and what it has done so far. */
export function Story({ asked }: { asked: Interaction }) {
  return asked.executionId ? <Run asked={asked} id={asked.executionId} /> : null;
}

function Run({ asked, id }: { asked: Interaction; id: string }) {
  const found = useQuery(execution(id)).data;
  if (!found) return null;
  const calls = (found.calls ?? []).filter((one) => one.kind === "tool");
  return (
    <section aria-label="The execution" className="space-y-4">
      <div>
        <h3 className="mb-1.5 font-medium text-sm">The calling code</h3>
        <Excerpt code={found.code ?? ""} language={found.language} tool={asked.tool} />
      </div>
      <div>
        <h3 className="mb-1 font-medium text-sm">Calls so far</h3>
        <ol className="text-sm">
          {calls.length > SHOWN && <li className="text-dim text-xs">{calls.length - SHOWN} earlier ones</li>}
          {calls.slice(-SHOWN).map((one) => (
            <Called key={one.seq} call={one} asked={one.seq === asked.callSeq} />
          ))}
        </ol>
        <Link
          to="/executions/$id"
          params={{ id }}
          search={{ call: String(asked.callSeq) }}
          className="text-accent text-xs underline"
        >
          The whole execution
        </Link>
      </div>
    </section>
  );
}

function Called({ call, asked }: { call: Call; asked: boolean }) {
  return (
    <li className="flex flex-wrap items-center gap-x-2 gap-y-0.5 py-0.5">
      <span className="w-5 text-dim text-xs tabular-nums">{call.seq}</span>
      <code className="min-w-0 break-words font-mono text-xs">{visible(call.path)}</code>
      <EffectBadge effect={call.effect} />
      {asked ? <Badge tone="accent">← this request</Badge> : <Badge tone={STATES[call.state]}>{call.state}</Badge>}
    </li>
  );
}

/** The lines around the place where the tool is named, if it is named in one place only; else all of a short code. */
type ExcerptProps = { code: string; language: string; tool: string; around?: number; label?: string };

export function Excerpt({ code, language, tool, around = 4, label = "Code" }: ExcerptProps) {
  const lines = code.split("\n");
  const looks = useMemo(() => coloured(code, language), [code, language]);
  const place = placeOf(lines, tool);
  const from = place === null ? 0 : Math.max(0, place - around);
  const until = Math.min(lines.length, place === null ? 12 : place + around + 1);
  return (
    <section
      tabIndex={0}
      aria-label={label}
      className="overflow-x-auto rounded-lg border border-line bg-raised/60 py-2 font-mono text-xs leading-5"
    >
      {from > 0 && <p className="pl-3 text-dim">… {from} lines above</p>}
      {looks.slice(from, until).map((line, index) => {
        const marked = from + index === place;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
          <div key={index} className={`flex ${marked ? "bg-warn-soft" : ""}`}>
            <span className={`w-12 shrink-0 select-none pr-3 text-right ${marked ? "text-warn" : "text-dim"}`}>
              {marked && <span aria-hidden="true">→ </span>}
              {from + index + 1}
            </span>
            <code className="min-w-0 whitespace-pre-wrap break-words pr-3">{isBlank(line) ? " " : line}</code>
          </div>
        );
      })}
      {until < lines.length && <p className="pl-3 text-dim">… {lines.length - until} lines below</p>}
    </section>
  );
}
