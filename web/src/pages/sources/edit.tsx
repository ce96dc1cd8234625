import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { remove } from "@/api/client";
import { source } from "@/api/queries";
import type { Source } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Button, looks } from "@/ui/button";
import { Command, Identifier } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { Facts } from "@/ui/facts";
import { Page, Section } from "@/ui/page";
import { Loaded } from "@/ui/states";
import { Ago } from "@/ui/time";
import { tell, tellProblem } from "@/ui/toast";
import { Connections } from "./connections";
import { Refresh } from "./refresh";

export function EditSourcePage() {
  const { id } = useParams({ from: "/shell/sources/$id/edit" });
  const asked = useQuery(source(id));
  const back = (
    <>
      <Refresh id={id} />
      <Link to="/sources/$id" params={{ id }} className={looks("plain")}>
        Its tools
      </Link>
    </>
  );
  return (
    <Page title={visible(asked.data?.name ?? id)} about="Settings of the source" actions={back}>
      <Loaded asked={asked} rows={6}>
        {(found) => (
          <>
            <Connections source={found} />
            <About source={found} />
            <Remove source={found} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function About({ source }: { source: Source }) {
  return (
    <Section title="About">
      <Facts
        facts={[
          ["Kind", source.kind],
          [
            "Namespace",
            <code key="ns" className="font-mono text-xs">
              {visible(source.namespace)}
            </code>,
          ],
          [
            "Address",
            <span key="at" className="break-all">
              {visible(source.location ?? source.command?.join(" ") ?? "")}
            </span>,
          ],
          ["Calls go to", visible(source.baseUrl ?? "")],
          ["Headers", source.headers.map((name) => visible(name)).join(", ")],
          ["Tools", source.toolCount.toLocaleString("en")],
          ["Read", <Ago key="read" at={source.refreshedAt} />],
          ["Added", <Ago key="added" at={source.createdAt} />],
          ["Id", <Identifier key="id" id={source.id} />],
        ]}
      />
    </Section>
  );
}

function Remove({ source }: { source: Source }) {
  const [asking, setAsking] = useState(false);
  const navigate = useNavigate();
  const client = useQueryClient();
  const gone = useMutation({
    mutationFn: () => remove(`/v1/sources/${encodeURIComponent(source.id)}`),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["sources"] });
      tell(`${source.name} is disconnected`);
      void navigate({ to: "/" });
    },
    onError: tellProblem,
  });
  return (
    <Section title="Disconnect">
      <p className="mb-3 text-dim text-sm">
        Its {source.toolCount.toLocaleString("en")} tools can't be called any more, and its connections go with it. What
        was done stays in the record.
      </p>
      <Button look="danger" onClick={() => setAsking(true)}>
        Disconnect…
      </Button>
      <Dialog open={asking} onClose={() => setAsking(false)} title={`Disconnect ${visible(source.name)}?`}>
        <p className="mb-4 text-sm">
          Executions that call <code className="font-mono">{visible(source.namespace)}.*</code> from now on fail with
          “unknown tool”.
        </p>
        <Command text={command("sources", "remove", source.namespace)} />
        <div className="mt-4 flex gap-2">
          <Button onClick={() => setAsking(false)}>Keep it</Button>
          <Button look="danger" busy={gone.isPending} onClick={() => gone.mutate()}>
            Disconnect
          </Button>
        </div>
      </Dialog>
    </Section>
  );
}
