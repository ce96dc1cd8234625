import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { SessionDetails } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Command, Identifier } from "@/ui/copy";
import { Facts } from "@/ui/facts";
import { Page } from "@/ui/page";
import { Loaded } from "@/ui/states";
import { Tabs } from "@/ui/tabs";
import { Ago } from "@/ui/time";
import { Acts } from "./acts";
import { SessionBadge } from "./badge";
import { Changes } from "./changes";
import { Composer } from "./composer";
import { shown } from "./queries";
import { Terminals } from "./terminals";
import { dollars, tokens } from "./usage";
import { TranscriptView } from "./view";

export function SessionPage() {
  const { id } = useParams({ from: "/shell/sessions/$id" });
  return <One key={id} id={id} />;
}

function One({ id }: { id: string }) {
  const asked = useQuery(shown(id));
  const session = asked.data;
  return (
    <Page
      title={visible(session?.title || "Session")}
      about={<About id={id} session={session} />}
      wide
      actions={session && <Acts session={session} />}
    >
      <Loaded asked={asked} rows={8}>
        {(found) => <Parts session={found} />}
      </Loaded>
    </Page>
  );
}

function About({ id, session }: { id: string; session: SessionDetails | undefined }) {
  return (
    <>
      <Identifier id={id} />
      <div className="mt-1 flex min-h-6 flex-wrap items-center gap-x-4 gap-y-1 text-dim text-sm">
        {session && (
          <>
            <SessionBadge status={session.status} />
            <span>{visible(session.agent)}</span>
            <Badge>{session.isolation}</Badge>
            <Badge tone={session.permissionMode === "bypassPermissions" ? "bad" : "quiet"}>
              {session.permissionMode}
            </Badge>
            <span>
              updated <Ago at={session.updatedAt} />
            </span>
          </>
        )}
      </div>
    </>
  );
}

function Parts({ session }: { session: SessionDetails }) {
  const { tab } = useSearch({ from: "/shell/sessions/$id" });
  const navigate = useNavigate({ from: "/sessions/$id" });
  const turn = (id: string) => void navigate({ search: { tab: id }, replace: true, resetScroll: false });
  const tabs = [
    {
      id: "transcript",
      title: "Transcript",
      content: (
        <>
          <TranscriptView id={session.id} />
          <Composer session={session} />
        </>
      ),
    },
    ...(session.repository ? [{ id: "changes", title: "Changes", content: <Changes session={session} /> }] : []),
    { id: "terminal", title: "Terminal", content: <Terminals session={session} /> },
    { id: "details", title: "Details", content: <Details session={session} /> },
  ];
  return (
    <div className="card px-4 py-3">
      <Tabs label="Parts of the session" tabs={tabs} value={tab ?? "transcript"} onChange={turn} />
    </div>
  );
}

function Details({ session }: { session: SessionDetails }) {
  const { usage, budget } = session;
  return (
    <div className="space-y-4">
      <Facts
        facts={[
          ["Started by", visible(session.actor ?? "")],
          [
            "Directory",
            <code key="cwd" className="break-all font-mono text-xs">
              {visible(session.cwd)}
            </code>,
          ],
          ["Repository", visible(session.repository ?? "")],
          ["Branch", visible(session.branch ?? "")],
          ["Model", visible(session.model ?? "")],
          ["If no one answers", { wait: "wait", deny: "deny", stop: "stop the task" }[session.unattended]],
          ["Usage", usage && (tokens(usage) || "nothing yet")],
          ["Input", usage?.input.toLocaleString("en")],
          ["Output", usage?.output.toLocaleString("en")],
          ["From the cache", usage?.cacheRead.toLocaleString("en")],
          ["Cost", session.costUsd ? dollars.format(session.costUsd) : ""],
          ["Budget", budget.usd === null ? "what the settings allow" : dollars.format(budget.usd)],
          ["Process", session.pid === null ? "not running" : String(session.pid)],
        ]}
      />
      <Command text={command("sessions", "attach", session.id)} />
    </div>
  );
}
