import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Command, CopyButton } from "@/ui/copy";
import { TextField } from "@/ui/field";
import { Section } from "@/ui/page";
import { Trouble } from "@/ui/states";
import { type Report, verify } from "./queries";

/** Whether the record is whole, for those who may ask. */
export function Verify() {
  const [head, setHead] = useState("");
  const check = useMutation({ mutationFn: () => verify(head.trim()) });
  return (
    <Section
      title="Is the audit log intact?"
      about="Recomputes every seal. A head that you stored elsewhere proves that nothing before it was rewritten."
    >
      <form
        className="flex flex-wrap items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          check.mutate();
        }}
      >
        <div className="min-w-48 flex-1">
          <TextField
            label="A head you stored (optional)"
            placeholder="4711:9f2c…"
            autoComplete="off"
            spellCheck={false}
            value={head}
            onChange={(event) => setHead(event.target.value)}
          />
        </div>
        <Button type="submit" look="primary" busy={check.isPending}>
          {check.isPending ? "Verifying…" : "Verify"}
        </Button>
      </form>
      <div role="status" className="mt-3 space-y-3 empty:hidden">
        {check.error ? <Trouble error={check.error} /> : check.data && <Told report={check.data} />}
      </div>
      <div className="mt-3">
        <Command text={command("audit", "verify", ...(head.trim() ? ["--head", head.trim()] : []))} />
      </div>
    </Section>
  );
}

function Told({ report }: { report: Report }) {
  const { ok, events, head, broken } = report;
  return (
    <div
      className={`rounded-xl border px-4 py-3 text-sm ${ok ? "border-ok/40 bg-ok-soft" : "border-bad/40 bg-bad-soft"}`}
    >
      <p className={`font-medium ${ok ? "text-ok" : "text-bad"}`}>
        <span aria-hidden="true">{ok ? "✓" : "✕"}</span> {ok ? "The audit log is intact" : "The audit log is broken"}:{" "}
        {events.toLocaleString("en")} events checked
      </p>
      {broken && (
        <p className="mt-1 break-words">
          {broken.eventId !== null && `At event ${broken.eventId}: `}
          {visible(broken.problem)}
        </p>
      )}
      {head && (
        <p className="mt-1 flex min-w-0 items-center gap-1">
          <span className="shrink-0">Head</span>
          <code className="min-w-0 truncate font-mono text-xs">{head}</code>
          <CopyButton text={head} label="Copy the head" />
        </p>
      )}
      {ok && <p className="mt-1">Store the head elsewhere, and verify the log against it later.</p>}
    </div>
  );
}
