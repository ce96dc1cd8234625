import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "@/api/client";
import { write } from "@/api/json";
import { source, sources } from "@/api/queries";
import type { Probe } from "@/api/types";
import { quoted } from "@/text/code";
import { Page, Section } from "@/ui/page";
import { Loaded } from "@/ui/states";
import { Failed } from "./failed";
import { NextStep } from "./nextstep";
import { Review } from "./review";
import { Templates } from "./templates";
import { Where } from "./where";

export type Wish = {
  location?: string;
  document?: string;
  command?: string[];
  consent?: boolean;
  kind?: string;
  options?: Record<string, unknown>;
};

export function AddSourcePage() {
  const { connected } = useSearch({ from: "/shell/sources/add" });
  return (
    <Page
      title="Add a source"
      about="Paste an address. Executor detects what it is and shows it to you before it connects anything."
    >
      {connected ? <Connected id={connected} /> : <Find />}
    </Page>
  );
}

function Find() {
  const given = useSearch({ from: "/shell/sources/add" });
  const navigate = useNavigate({ from: "/sources/add" });
  const [wish, setWish] = useState<Wish | null>(null);
  useQuery(sources); // known when something is found: namespaces that are taken are not offered
  const probe = useMutation({
    mutationFn: async (wanted: Wish) =>
      wanted.command ? ofCommand(wanted.command) : await post("/v1/sources/probe", wanted),
  });
  const look = (wanted: Wish) => {
    setWish(wanted);
    probe.mutate(wanted);
    void navigate({ search: { location: wanted.location || undefined }, replace: true });
  };
  return (
    <>
      <Section title="1. Where is it?">
        <Where start={given.location ?? ""} busy={probe.isPending} onLook={look} />
      </Section>
      {probe.error ? <Failed error={probe.error} wish={wish} onRetry={() => wish && look(wish)} /> : null}
      {probe.data && wish && <Review key={write(wish)} probe={probe.data} wish={wish} />}
      {!probe.data && <Templates onChoose={(template) => look({ location: template.id })} />}
    </>
  );
}

/** Nothing can be found out about a command without running it, and no one has agreed to that yet. */
function ofCommand(command: string[]): Probe {
  const unknown = { name: null, namespace: null, baseUrl: null, note: null, warning: null, auth: [], ways: [] };
  return {
    ...unknown,
    sentTo: null,
    guarded: false,
    kind: "mcp",
    location: command.map(quoted).join(" "),
    transport: "stdio",
  };
}

function Connected({ id }: { id: string }) {
  const asked = useQuery(source(id));
  return (
    <Loaded asked={asked} rows={4}>
      {(found) => <NextStep source={found} />}
    </Loaded>
  );
}
