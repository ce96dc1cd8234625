import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { post } from "@/api/client";
import { whoami } from "@/api/queries";
import { Button, looks } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Trouble } from "@/ui/states";

export function Start() {
  return (
    <section aria-label="Get started" className="card mb-5 px-6 py-8">
      <h2 className="font-semibold text-lg">Nothing is connected yet</h2>
      <p className="mt-1 max-w-xl text-dim">
        Connect an OpenAPI document, a GraphQL endpoint or an MCP server. Its operations become typed tools, and your
        policies apply to every call.
      </p>
      <ol className="mt-5 grid gap-4 sm:grid-cols-2">
        <li className="flex flex-col rounded-xl border border-line p-4">
          <p className="font-medium">See it work in a minute</p>
          <p className="mt-1 mb-3 text-dim text-sm sm:min-h-10">
            A sample API with a few invoices on this machine: reads run immediately, writes need your approval.
          </p>
          <Demo />
        </li>
        <li className="flex flex-col rounded-xl border border-line p-4">
          <p className="font-medium">Connect your own</p>
          <p className="mt-1 mb-3 text-dim text-sm sm:min-h-10">
            Paste an address: Executor detects what it is and shows it before connecting.
          </p>
          <Link to="/sources/add" className={`${looks("plain")} self-start`}>
            Add a source
          </Link>
        </li>
      </ol>
    </section>
  );
}

function Demo() {
  const client = useQueryClient();
  const may = useQuery(whoami).data?.permissions.includes("administer") ?? false;
  const connect = useMutation({
    mutationFn: () => post("/v1/sources/demo"),
    onSuccess: () => client.invalidateQueries({ queryKey: ["sources"] }),
  });
  if (!may) return <p className="text-dim text-sm">An admin of this workspace can connect it.</p>;
  return (
    <div className="space-y-3">
      <Button look="primary" busy={connect.isPending || connect.isSuccess} onClick={() => connect.mutate()}>
        <Play size={14} aria-hidden="true" /> {connect.isPending ? "Connecting…" : "Connect the demo"}
      </Button>
      {connect.error ? <Trouble error={connect.error} /> : null}
      <Command text="executor sources add --demo" />
    </div>
  );
}
