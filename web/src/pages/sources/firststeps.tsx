import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { write } from "@/api/json";
import { executions, interactions } from "@/api/queries";
import type { Source } from "@/api/types";
import { looks } from "@/ui/button";

const REFUND = { id: "inv_1001", amount: 5, reason: "Late delivery" };

/** From an empty page to a first call, and to one that asks. It goes when something else is connected. */
export function FirstSteps({ source }: { source: Source }) {
  const ran = (useQuery(executions(undefined, undefined)).data?.items.length ?? 0) > 0;
  const asked = (useQuery(interactions()).data?.items.length ?? 0) > 0;
  const name = source.namespace;
  const link = (tool: string, text: string, first: boolean, args?: object) => (
    <Link
      to="/sources/$id"
      params={{ id: name }}
      search={{ tool: `${name}.${tool}`, tab: "try", args: args && write(args) }}
      className={looks(first ? "primary" : "plain", "small")}
    >
      {text}
    </Link>
  );
  return (
    <section aria-label="First steps" className="card mb-5 px-5 py-4">
      <h2 className="font-semibold">The demo is connected</h2>
      <ol className="mt-3 space-y-3">
        <Step
          done={ran}
          number={1}
          title="Make a first call"
          act={link("invoices.listInvoices", "List the invoices", !ran)}
        >
          A read: it is allowed and runs immediately.
        </Step>
        <Step
          done={asked}
          number={2}
          title="Make a call that needs approval"
          act={link("refunds.createRefund", "Refund an invoice", ran && !asked, REFUND)}
        >
          A write: it waits until you have reviewed it.
        </Step>
        <Step
          done={false}
          number={3}
          title="Write code, like an agent"
          act={
            <Link
              to="/playground"
              search={{ tool: `${name}.invoices.listInvoices` }}
              className={looks("plain", "small")}
            >
              Open the playground
            </Link>
          }
        >
          Or connect your agent below.
        </Step>
      </ol>
    </section>
  );
}

function Step({
  done,
  number,
  title,
  act,
  children,
}: {
  done: boolean;
  number: number;
  title: string;
  act: ReactNode;
  children: ReactNode;
}) {
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
      <span
        className={`flex size-6 shrink-0 items-center justify-center rounded-full text-xs ${done ? "bg-ok-soft text-ok" : "bg-raised text-dim"}`}
      >
        {done ? (
          <>
            <span aria-hidden="true">✓</span>
            <span className="sr-only">done</span>
          </>
        ) : (
          number
        )}
      </span>
      <span className="min-w-0 flex-1 basis-56 text-sm">
        <b className="font-medium">{title}.</b> <span className="text-dim">{children}</span>
      </span>
      {act}
    </li>
  );
}
