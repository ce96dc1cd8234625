import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import type { Call, Execution } from "@/api/types";
import { command } from "@/text/code";
import { duration } from "@/text/time";
import { visible } from "@/text/visible";
import { Badge, EffectBadge } from "@/ui/badge";
import { IconButton } from "@/ui/button";
import { Command } from "@/ui/copy";
import { type Fact, Facts } from "@/ui/facts";
import { Loaded } from "@/ui/states";
import { Tree } from "@/ui/tree";
import { CallAnswer } from "./answer";
import { namedIn } from "./lines";
import { type CallHead, type Decided, decisions, whole } from "./queries";
import { Settled } from "./settled";

type Props = { execution: Execution; head: CallHead; onClose: () => void };

/** One call in full: what was sent, what came back, when, and who let it happen. */
export function OneCall({ execution, head, onClose }: Props) {
  const asked = useQuery(whole(execution.executionId, head.seq));
  const decided = (useQuery(decisions(execution.executionId)).data?.items ?? []).filter(
    (one) => one.callSeq === head.seq,
  );
  return (
    <section aria-label={`Call ${head.seq}`} className="mt-3 min-w-0 border-line border-t pt-3">
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <h3 className="min-w-0 break-words font-mono text-sm">
          <Name head={head} />
        </h3>
        {head.kind === "tool" && <EffectBadge effect={head.effect} />}
        {head.error && <Badge tone="bad">{visible(String(head.error.code))}</Badge>}
        <IconButton label="Close the call" className="ml-auto" onClick={onClose}>
          <X size={14} aria-hidden="true" />
        </IconButton>
      </div>
      <Facts facts={facts(execution, head, decided)} />
      <div className="mt-3">
        <Loaded asked={asked} rows={2}>
          {(call) => call && <Exchange call={call} />}
        </Loaded>
      </div>
      <div className="mt-3">
        <Command text={command("executions", "show", execution.executionId, "--call", String(head.seq))} />
      </div>
    </section>
  );
}

// These are Executor's own tools; no source has a page for them.
const OWN = /^(discover|describe|executor)(\.|$)/;

function Name({ head }: { head: CallHead }) {
  if (head.kind !== "tool" || OWN.test(head.path)) return visible(head.path || head.kind);
  return (
    <Link
      to="/sources/$id"
      params={{ id: head.path.split(".")[0] ?? "" }}
      search={{ tool: head.path }}
      className="hover:underline"
    >
      {visible(head.path)}
    </Link>
  );
}

function facts(execution: Execution, head: CallHead, decided: Decided[]): Fact[] {
  const made = Date.parse(head.createdAt);
  const begin = Date.parse(execution.createdAt);
  const sent = head.startedAt ? Date.parse(head.startedAt) : undefined;
  const ended = head.finishedAt ? Date.parse(head.finishedAt) : undefined;
  const named = head.kind === "tool" ? namedIn(execution.code ?? "", head.path) : [];
  return [
    ["Made", `${duration(made - begin)} after the start`],
    [
      "Sent",
      sent === undefined
        ? head.state === "succeeded"
          ? ""
          : "not sent"
        : sent > made
          ? `${duration(sent - made)} later`
          : "at once",
    ],
    ["Answered", ended === undefined || sent === undefined ? "" : `after ${duration(ended - sent)}`],
    ["In the code", named.length ? `line ${named.join(", ")}` : ""],
    ...decided.map((one): Fact => ["Decision", <Settled key={one.id} decided={one} />]),
  ];
}

function Exchange({ call }: { call: Call }) {
  return (
    <div className="grid min-w-0 gap-3 lg:grid-cols-2">
      <Part title="Arguments">
        <Tree value={call.arguments ?? null} label="arguments" />
      </Part>
      <Part title={call.error ? "Error" : "Result"}>
        <CallAnswer call={call} />
      </Part>
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <h4 className="mb-1 text-dim text-xs">{title}</h4>
      {children}
    </div>
  );
}
