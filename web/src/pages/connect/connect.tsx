import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { execution, interaction, interactions, whoami } from "@/api/queries";
import type { Interaction, Needs, Way } from "@/api/types";
import { visible } from "@/text/visible";
import { looks } from "@/ui/button";
import { Facts } from "@/ui/facts";
import { Choice } from "@/ui/field";
import { Page } from "@/ui/page";
import { Empty, Loaded } from "@/ui/states";
import { Until } from "../approvals/context";
import { CredentialForm } from "./form";
import { Login } from "./login";
import { OWN_HEADER } from "./ownheader";

/** Where a source says only that it wants something, or not all that it takes. */
const ADD = "executor.sources.add";

/** Where a call that lacks a credential gets one. The agent never sees it. */
export function ConnectPage() {
  const { id } = useParams({ from: "/shell/connect/$id" });
  const asked = useQuery(interaction(id));
  return (
    <Page title="A credential is needed">
      <Loaded asked={asked} rows={6}>
        {(found) => <Asked asked={found} />}
      </Loaded>
    </Page>
  );
}

function Asked({ asked }: { asked: Interaction }) {
  const needs = asked.credential as Needs | null | undefined;
  if (asked.status !== "pending") return <Done asked={asked} />;
  if (!needs) return <Empty title="This request does not ask for a credential" />;
  return (
    <div className="card max-w-2xl">
      <div className="border-line border-b px-5 py-4">
        <Facts
          facts={[
            [
              "For the call",
              <code key="tool" className="break-words font-mono text-sm">
                {visible(asked.tool)}
              </code>,
            ],
            ["Requested by", visible(asked.actor ?? "")],
            ["Source", visible(asked.tool === ADD ? needs.source : (asked.source ?? needs.source))],
            ["Why", visible(asked.reason)],
            ["Expires", <Until key="expires" at={asked.expiresAt} />],
            ["Execution", <See key="execution" asked={asked} />],
          ]}
        />
        <p className="mt-4 rounded-lg bg-accent-soft px-3 py-2 text-sm">
          It is sent to <b className="break-words font-mono">{visible(needs.sentTo)}</b> and nowhere else. The agent and
          its code never see it.
        </p>
      </div>
      <div className="px-5 py-4">
        <Ways asked={asked} needs={needs} />
      </div>
    </div>
  );
}

const OWN: Way = {
  name: "",
  scheme: "bearer",
  description: "",
  inputs: [{ name: "token", label: "token", secret: true }],
  placements: [{ in: "header", name: "Authorization", template: "Bearer {token}" }],
  oauth: null,
  scopes: [],
};

function Ways({ asked, needs }: { asked: Interaction; needs: Needs }) {
  const may = useQuery(whoami).data?.permissions ?? [];
  const own = may.includes("administer") && asked.tool === ADD ? [OWN_HEADER] : [];
  const ways = [...(needs.ways.length ? needs.ways : [OWN]), ...own];
  const [at, setAt] = useState(0);
  const way = ways[at] ?? OWN;
  return (
    <div className="space-y-4">
      {ways.length > 1 && (
        <Choice label="How" value={at} onChange={(event) => setAt(Number(event.target.value))}>
          {ways.map((one, index) => (
            <option key={`${one.name} ${one.scheme}`} value={index}>
              {visible(one.name)}
              {one !== OWN_HEADER && ` (${one.oauth ? "sign in at the service" : one.scheme.replace("_", " ")})`}
            </option>
          ))}
        </Choice>
      )}
      {way.description && <p className="text-dim text-sm">{visible(way.description)}</p>}
      {way.oauth ? (
        <Login asked={asked} needs={needs} way={way} />
      ) : (
        <CredentialForm key={at} asked={asked} needs={needs} way={way} />
      )}
    </div>
  );
}

function See({ asked }: { asked: Interaction }) {
  return (
    <>
      <Link to="/executions/$id" params={{ id: asked.executionId ?? "" }} className="text-accent underline">
        See what it does
      </Link>{" "}
      or{" "}
      <Link to="/approvals/$id" params={{ id: asked.id }} className="text-accent underline">
        deny the call
      </Link>
    </>
  );
}

function Done({ asked }: { asked: Interaction }) {
  const given = asked.status === "approved";
  const run = useQuery(execution(asked.executionId ?? "")).data;
  const pending = useQuery(interactions("pending")).data?.items ?? [];
  const again = pending.find((one) => one.executionId === asked.executionId && one.kind === asked.kind);
  if (given && again)
    return (
      <Empty title="The service refused this credential">
        <Link to="/connect/$id" params={{ id: again.id }} className={`${looks("primary")} mt-3`}>
          Enter it again
        </Link>
      </Empty>
    );
  const failed = run?.status === "failed";
  const outcome = failed
    ? "Credential saved, but the execution has failed"
    : "Credential saved. The execution is resuming";
  return (
    <Empty title={given ? outcome : `This request is ${asked.status}`}>
      {failed && run.error && <p className="break-words text-bad">{visible(run.error.message)}</p>}
      <Link to="/executions/$id" params={{ id: asked.executionId ?? "" }} className={`${looks("plain")} mt-3`}>
        See the execution
      </Link>
    </Empty>
  );
}
