import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { sentence } from "@/text/events";
import { visible } from "@/text/visible";
import { CopyButton } from "@/ui/copy";
import { type Fact, Facts } from "@/ui/facts";
import { Ago } from "@/ui/time";
import { Tree } from "@/ui/tree";
import type { AuditEvent } from "./queries";

export function Acts({ items }: { items: AuditEvent[] }) {
  return (
    <ol aria-label="What happened" className="card divide-y divide-line overflow-hidden">
      {items.map((event) => (
        <li key={event.id}>
          <Act event={event} />
        </li>
      ))}
    </ol>
  );
}

function Act({ event }: { event: AuditEvent }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(toggled) => setOpen(toggled.currentTarget.open)}>
      <summary className="grid w-full grid-cols-[minmax(0,1fr)_5.5rem] gap-x-3 gap-y-0.5 px-4 py-2 text-sm outline-offset-[-2px] marker:content-none hover:bg-raised md:grid-cols-[8rem_minmax(0,1fr)_11rem_5.5rem]">
        <span className="order-3 truncate text-dim text-xs leading-5 md:order-none">
          {event.actor ? visible(event.actor) : event.actorId ? visible(event.actorId) : "Executor itself"}
        </span>
        <span className="min-w-0 break-words [overflow-wrap:anywhere] md:truncate">{visible(told(event))}</span>
        <code className="hidden truncate font-mono text-dim text-xs leading-5 md:block">{visible(event.type)}</code>
        <span className="text-right text-dim text-xs leading-5">
          <Ago at={event.at} />
        </span>
      </summary>
      {open && <Details event={event} />}
    </details>
  );
}

/** Among other events, it must be clear that an execution has completed. */
function told(event: AuditEvent): string {
  const said = sentence(event.type, event.data);
  return event.type.startsWith("execution.") ? `Execution ${said.charAt(0).toLowerCase()}${said.slice(1)}` : said;
}

function Details({ event }: { event: AuditEvent }) {
  const facts: Fact[] = [
    ["Number", event.id],
    ["At", event.at],
    [
      "Who",
      event.actor || event.actorId ? `${visible(event.actor ?? "")} ${event.actorId ?? ""}`.trim() : "Executor itself",
    ],
    ["From", event.origin ? visible(event.origin) : ""],
    [
      "Execution",
      event.executionId ? (
        <Link
          key="execution"
          to="/executions/$id"
          params={{ id: event.executionId }}
          className="font-mono text-accent text-xs underline"
        >
          {event.executionId}
        </Link>
      ) : (
        ""
      ),
    ],
    [
      "Seal",
      event.seal ? (
        <span key="seal" className="inline-flex min-w-0 max-w-full items-center">
          <code className="truncate font-mono text-xs">{event.seal}</code>
          <CopyButton text={event.seal} label="Copy the seal" />
        </span>
      ) : (
        ""
      ),
    ],
  ];
  return (
    <div className="space-y-3 border-line border-t bg-raised/40 px-4 py-3">
      <Facts facts={facts} />
      <Tree value={event.data} label="data" />
    </div>
  );
}
