import { Link } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { write } from "@/api/json";
import { useVisitor } from "@/api/queries";
import type { Interaction } from "@/api/types";
import { because } from "@/text/because";
import { mixed } from "@/text/mixed";
import { visible } from "@/text/visible";
import { Identifier } from "@/ui/copy";
import { type Fact, Facts } from "@/ui/facts";
import { Ago, useNow } from "@/ui/time";

/** What no decision can do without. */
function essentials(asked: Interaction): Fact[] {
  const known = asked.sentWith ?? asked.connection ?? "none";
  const credential = asked.credential ? "missing: you will be asked for it first" : known;
  return [
    ["Requested by", <WhoAsks key="who" asked={asked} />],
    ["Sent to", <span key="host">{visible(asked.host || "Executor itself")}</span>],
    ["Request", asked.request && <Request key="request" text={asked.request} />],
    ["Source", visible(asked.source ?? "")],
    ["Credential", visible(credential)],
    [
      "Description",
      asked.description && <Description key="what" text={asked.description} own={Boolean(asked.describedBy)} />,
    ],
    ["Directory", asked.cwd && <code className="break-all font-mono text-xs">{visible(asked.cwd)}</code>],
    ["Reason", <Why key="why" asked={asked} />],
    ["Expires", asked.status === "pending" ? <Until key="expires" at={asked.expiresAt} /> : ""],
  ];
}

/** `brief` leaves out what only names the request itself; `asked` may be one of several that share all of this. */
export function Context({ asked, brief = false }: { asked: Interaction; brief?: boolean }) {
  const more: Fact[] = [
    ["Requested", <Ago key="asked" at={asked.createdAt} />],
    ["Execution", asked.executionId && <ExecutionLink key="execution" id={asked.executionId} />],
    ["Session", asked.sessionId && <SessionLink key="session" id={asked.sessionId} />],
    ["Interaction", <Identifier key="id" id={asked.id} />],
    ["Actor", asked.actorId ? <Identifier key="actor" id={asked.actorId} /> : ""],
  ];
  return (
    <>
      <Facts facts={brief ? essentials(asked) : [...essentials(asked), ...more]} />
      <Alike asked={useMemo(() => [asked], [asked])} />
    </>
  );
}

const VIA: Record<string, string> = {
  operator_token: "the operator's token",
  agent_token: "an agent's token",
  browser: "a browser",
  api_key: "an API key",
  anonymous: "an anonymous session",
  anonymous_browser: "a browser without an account",
  bearer: "a token of the authorization server",
  internal: "Executor itself",
};

function WhoAsks({ asked }: { asked: Interaction }) {
  const [via, ...rest] = (asked.origin ?? "").split(" ");
  const address = rest.at(-1);
  return (
    <>
      <b className="font-medium">{visible(asked.actor ?? "unknown")}</b>
      {via && ` through ${VIA[via] ?? visible(via)}`}
      {address && ` from ${visible(address)}`}
    </>
  );
}

/** As it will be sent, made by the same code. */
function Request({ text }: { text: string }) {
  return <code className="break-all font-mono text-xs">{visible(text)}</code>;
}

/** The source's own words are shown, not believed; `own` if people here wrote them. */
function Description({ text, own }: { text: string; own: boolean }) {
  return (
    <>
      <span className="whitespace-pre-line">{visible(text, "\n")}</span>{" "}
      <span className="text-dim text-xs">({own ? "described by this workspace" : "described by the source"})</span>
    </>
  );
}

function Why({ asked }: { asked: Interaction }) {
  const visitor = useVisitor();
  return (
    <>
      {visible(because(asked.reason))}.{" "}
      {!asked.elicitation && !visitor && (
        <Link
          to="/policies"
          search={{ path: asked.tool, rule: asked.policyId ?? undefined }}
          className="whitespace-nowrap text-accent text-xs underline"
        >
          {asked.policyId ? "See the policy" : "See the policies"}
        </Link>
      )}
    </>
  );
}

/** How long it can still be decided: to the second in its last hour. */
export function Until({ at }: { at: string }) {
  const now = Math.max(useNow(), Date.now() - 1000);
  const left = Math.floor((Date.parse(at) - now) / 1000);
  if (left <= 0) return <span className="text-bad">expired</span>;
  if (left >= 3600) return <Ago at={at} />;
  const clock = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  return (
    <time dateTime={at} className={`tabular-nums ${left < 300 ? "font-medium text-warn" : ""}`}>
      in {clock}
    </time>
  );
}

/** True once it has expired. */
export function useExpired(at: string): boolean {
  const [expired, setExpired] = useState(() => Date.parse(at) <= Date.now());
  useEffect(() => {
    const left = Date.parse(at) - Date.now();
    if (left > 2 ** 31 - 1) return;
    const timer = setTimeout(() => setExpired(true), Math.max(0, left));
    return () => clearTimeout(timer);
  }, [at]);
  return expired;
}

function ExecutionLink({ id }: { id: string }) {
  return (
    <Link to="/executions/$id" params={{ id }} className="break-all font-mono text-accent text-xs underline">
      {id}
    </Link>
  );
}

function SessionLink({ id }: { id: string }) {
  return (
    <Link to="/sessions/$id" params={{ id }} className="break-all font-mono text-accent text-xs underline">
      {id}
    </Link>
  );
}

export function Alike({ asked }: { asked: readonly Interaction[] }) {
  const words = useMemo(() => {
    const texts = asked.flatMap((one) => [one.actor, one.host, one.request, one.source, write(one.arguments)]);
    return mixed(texts.join("\n"));
  }, [asked]);
  if (words.length === 0) return null;
  return (
    <p role="note" className="rounded-lg bg-warn-soft px-3 py-2 text-sm text-warn">
      Letters of another alphabet that look like Latin ones: <b className="break-words">{visible(words.join("; "))}</b>
    </p>
  );
}
