import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { post } from "@/api/client";
import { write } from "@/api/json";
import { describeTool, tool, whoami } from "@/api/queries";
import type { Decision, Policy, Tool } from "@/api/types";
import { because } from "@/text/because";
import { command } from "@/text/code";
import { visible } from "@/text/visible";
import { ActionBadge, Badge, EffectBadge } from "@/ui/badge";
import { Code } from "@/ui/code";
import { Command, CopyButton } from "@/ui/copy";
import { Path } from "@/ui/path";
import { Loaded } from "@/ui/states";
import { Tabs } from "@/ui/tabs";
import { Description } from "./description";
import { Labels, TreatAsRead } from "./labels";
import { SchemaTree } from "./schematree";
import { TryIt } from "./try";

export function ToolDetail({ path }: { path: string }) {
  const asked = useQuery(tool(path));
  return (
    <Loaded asked={asked} rows={8}>
      {(found) => <Shown tool={found} />}
    </Loaded>
  );
}

function Shown({ tool }: { tool: Tool }) {
  const { tab } = useSearch({ from: "/shell/sources/$id" });
  const navigate = useNavigate({ from: "/sources/$id" });
  const turn = (id: string) => void navigate({ search: (before) => ({ ...before, tab: id }), replace: true });
  const may = useQuery(whoami).data?.permissions.includes("administer") ?? false;
  const tabs = [
    { id: "schema", title: "Fields", content: <Schemas tool={tool} /> },
    { id: "try", title: "Try it", content: <TryIt tool={tool} /> },
    {
      id: "typescript",
      title: "TypeScript",
      content: <Code text={tool.signature} label="signature" numbers={false} />,
    },
    { id: "python", title: "Python", content: <Python tool={tool} /> },
    { id: "json", title: "JSON", content: <RawJson tool={tool} /> },
    ...(may && tool.source !== "executor" ? [{ id: "edit", title: "Edit", content: <Edit tool={tool} /> }] : []),
  ];
  return (
    <article aria-label={tool.path} className="card min-w-0">
      <header className="border-line border-b px-5 py-4">
        <div className="flex items-start gap-1">
          <h2 className="min-w-0 break-words font-mono font-semibold text-base">
            <Path path={tool.path} />
          </h2>
          <CopyButton text={tool.path} label="Copy the path" />
        </div>
        <div className="mt-2 flex flex-wrap items-center gap-2">
          <EffectBadge effect={tool.effect} />
          {tool.deprecated && <Badge tone="warn">deprecated</Badge>}
          {tool.ownPath && <Badge>renamed</Badge>}
          {tool.describedBy && <Badge>description edited</Badge>}
          <InForce path={tool.path} />
        </div>
        <Description text={tool.description} />
      </header>
      <div className="px-5 py-4">
        <Tabs label="Views of the tool" tabs={tabs} value={tab ?? "schema"} onChange={turn} />
        <details className="mt-4 text-sm">
          <summary className="text-dim">The same in a terminal</summary>
          <div className="mt-2">
            <Command text={command("tools", "describe", tool.path)} />
          </div>
        </details>
      </div>
    </article>
  );
}

/** What a call of it would meet, by the policies as they are now. */
function InForce({ path }: { path: string }) {
  const decision = useQuery({
    queryKey: ["decision", path],
    queryFn: () => post("/v1/policies/test", { path }),
    retry: false,
  }).data;
  if (!decision) return null;
  const policies = decision.rules.filter((one) => one.possible);
  if (policies.some(({ policy }) => policy.conditions.length > 0 || policy.actorId)) {
    return <PossiblePolicies path={path} decision={decision} policies={policies.map(({ policy }) => policy)} />;
  }
  return (
    <span className="flex flex-wrap items-center gap-1.5 text-dim text-xs">
      <ActionBadge action={decision.action} />
      <Link to="/policies" search={{ path }} className="underline">
        {visible(because(decision.reason))}
      </Link>
    </span>
  );
}

/** Which policy decides depends on the call: all that can, in their order, and what holds without any of them. */
function PossiblePolicies({ path, decision, policies }: { path: string; decision: Decision; policies: Policy[] }) {
  const last = policies.at(-1);
  const covered = last && last.conditions.length === 0 && !last.actorId;
  return (
    <section aria-label="Policies for this tool" className="basis-full text-xs">
      <p className="mb-1 text-dim">It depends on the call. The first matching policy wins:</p>
      <ol className="space-y-1">
        {policies.map((one) => (
          <li key={one.id} className="flex items-baseline gap-1.5">
            <ActionBadge action={one.action} />
            <Link
              to="/policies"
              search={{ path, rule: one.id ?? undefined }}
              className="min-w-0 font-mono underline [overflow-wrap:anywhere]"
            >
              {visible(one.text)}
            </Link>
            {one.level !== "workspace" && <Badge>{one.level}</Badge>}
          </li>
        ))}
        {!covered && (
          <li className="flex items-baseline gap-1.5 text-dim">
            <ActionBadge action={decision.otherwise.action} />
            Otherwise: {visible(decision.otherwise.reason)}
          </li>
        )}
      </ol>
    </section>
  );
}

function Edit({ tool }: { tool: Tool }) {
  return (
    <>
      {tool.effect !== "read" && <TreatAsRead tool={tool} />}
      <Labels tool={tool} />
    </>
  );
}

function Python({ tool }: { tool: Tool }) {
  const asked = useQuery({
    queryKey: ["tools", "python", tool.path],
    queryFn: ({ signal }) => describeTool(tool.path, { language: "python", budget: 8000 }, signal),
  });
  return (
    <Loaded asked={asked} rows={2}>
      {(found) => <Code text={found.signature} label="Python signature" language="python" numbers={false} />}
    </Loaded>
  );
}

function Schemas({ tool }: { tool: Tool }) {
  return (
    <div className="space-y-4">
      <div>
        <h3 className="mb-1.5 font-medium text-sm">Input</h3>
        <SchemaTree schema={tool.inputSchema} label="Input fields" />
      </div>
      <div>
        <h3 className="mb-1.5 font-medium text-sm">Output</h3>
        <SchemaTree schema={tool.outputSchema} label="Output fields" />
      </div>
    </div>
  );
}

function RawJson({ tool }: { tool: Tool }) {
  return <Code text={write(tool, 2)} label="tool as JSON" />;
}
