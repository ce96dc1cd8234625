import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { FormEvent } from "react";
import { patch } from "@/api/client";
import { source, whoami } from "@/api/queries";
import type { Source } from "@/api/types";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { Button, looks } from "@/ui/button";
import { Command, Identifier } from "@/ui/copy";
import { Facts } from "@/ui/facts";
import { TextField } from "@/ui/field";
import { Page, Section } from "@/ui/page";
import { Loaded, Trouble } from "@/ui/states";
import { Ago } from "@/ui/time";
import { tell } from "@/ui/toast";
import { ToolChoice } from "./choice";
import { Connections } from "./connections";
import { ApprovalDefaults } from "./defaults";
import { ServerHints } from "./hints";
import { path } from "./queries";
import { Refresh } from "./refresh";
import { Remove } from "./remove";
import { ConnectionSettings } from "./settings/settings";
import { SourceStatus } from "./status";

export function EditSourcePage() {
  const { id } = useParams({ from: "/shell/sources/$id/edit" });
  const asked = useQuery(source(id));
  const may = useQuery(whoami).data?.permissions.includes("administer") ?? false;
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
            {found.error && <Failing source={found} />}
            <Connections source={found} />
            {may && <ConnectionSettings key={found.revision} source={found} />}
            {may && <ToolChoice key={`${found.id} ${found.refreshedAt}`} source={found} />}
            {may && found.kind === "mcp" && <ServerHints source={found} />}
            {may && <ApprovalDefaults source={found} />}
            {may && <Naming source={found} />}
            <About source={found} />
            {may && <Remove source={found} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Failing({ source }: { source: Source }) {
  return (
    <div role="alert" className="mb-4 rounded-xl border border-bad/40 bg-bad-soft px-4 py-3 text-sm">
      <p className="break-words font-medium text-bad">{visible(source.error ?? "")}</p>
      <p className="mt-1">
        Its tools are those of the last refresh. Refresh it when the problem is fixed; you can add a missing credential
        below.
      </p>
    </div>
  );
}

function Naming({ source }: { source: Source }) {
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: (name: string) => patch(path(source.id), { name }),
    onSuccess: (renamed) => {
      client.invalidateQueries({ queryKey: ["sources"] });
      tell(`Renamed to ${renamed.name}`);
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("name") ?? "").trim();
    if (name && name !== source.name) save.mutate(name);
  };
  return (
    <Section title="Name" about="Display name. The namespace does not change: it is part of every path">
      <form key={source.name} onSubmit={submit} className="flex max-w-md items-end gap-2">
        <div className="min-w-0 flex-1">
          <TextField name="name" label="Name" hideLabel defaultValue={source.name} maxLength={200} required />
        </div>
        <Button type="submit" busy={save.isPending}>
          Save the name
        </Button>
      </form>
      {save.error ? <Trouble error={save.error} /> : null}
    </Section>
  );
}

function About({ source }: { source: Source }) {
  const code = (text: string) => <code className="break-all font-mono text-xs">{visible(text)}</code>;
  return (
    <Section title="About">
      <Facts
        facts={[
          ["Status", <SourceStatus key="status" source={source} />],
          ["Kind", source.kind],
          ["Namespace", code(source.namespace)],
          ["Address", code(source.location ?? source.command?.join(" ") ?? "")],
          ["Calls go to", visible(source.baseUrl ?? "")],
          ["Transport", visible(source.transport ?? "")],
          ["Run by", source.hosted ? "the daemon, until you disconnect it" : null],
          ["Requires", source.auth.map((one) => `${visible(one.name)} (${visible(one.type)})`).join(", ")],
          ["Headers", source.headers.map((name) => visible(name)).join(", ")],
          [
            "Tools",
            source.choice
              ? `${source.toolCount.toLocaleString("en")} of ${source.choice.offered.toLocaleString("en")}`
              : source.toolCount.toLocaleString("en"),
          ],
          ["Skipped", source.skipped.length ? `${source.skipped.length} parts` : null],
          ["Read", <Ago key="read" at={source.refreshedAt} />],
          ["Added", <Ago key="added" at={source.createdAt} />],
          ["ID", <Identifier key="id" id={source.id} />],
        ]}
      />
      <div className="mt-4">
        <Command text={command("sources", "show", source.namespace)} />
      </div>
    </Section>
  );
}
