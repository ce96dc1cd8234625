import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { lazy, Suspense, useRef, useState } from "react";
import { post } from "@/api/client";
import { execution, executions } from "@/api/queries";
import type { Execution } from "@/api/types";
import { useHotkeys } from "@/shell/hotkeys";
import { command, reference } from "@/text/code";
import { visible } from "@/text/visible";
import { StatusBadge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Choice } from "@/ui/field";
import { Page, Section } from "@/ui/page";
import { Empty, Loaded, Skeleton, Trouble } from "@/ui/states";
import { Ago } from "@/ui/time";
import { Log } from "../executions/log";
import { Outcome } from "../executions/outcome";
import type { Language } from "./editor";

const Editor = lazy(() => import("./editor"));
const START: Record<Language, string> = {
  typescript:
    '// Ctrl+Enter runs it. Every call passes your rules.\nconst found = await tools.discover({ query: "list", limit: 5 });\nreturn found.items;\n',
  python:
    '# Ctrl+Enter runs it. Every call passes your rules.\nfound = await tools.discover({"query": "list", "limit": 5})\nfound\n',
};

export function PlaygroundPage() {
  const { from, tool } = useSearch({ from: "/shell/playground" });
  const earlier = useQuery({ ...execution(from ?? ""), enabled: Boolean(from) });
  if (from) {
    return (
      <Loaded asked={earlier}>
        {(found) => <Bench key={from} start={found.code ?? ""} was={found.language as Language} />}
      </Loaded>
    );
  }
  return <Bench key={tool ?? ""} start={tool ? `return await ${reference(tool)}({})\n` : ""} />;
}

function Bench({ start, was }: { start: string; was?: Language }) {
  const search = useSearch({ from: "/shell/playground" });
  const navigate = useNavigate({ from: "/playground" });
  const language: Language = (search.language ?? was) === "python" ? "python" : "typescript";
  const first = start || START[language];
  const code = useRef(first);
  const [shown, setShown] = useState(first);
  const run = useMutation({
    mutationFn: () => post<Execution>("/v1/executions", { code: code.current, language, wait: 30, result: "preview" }),
  });
  const began = run.data?.executionId;
  const live = useQuery({ ...execution(began ?? ""), enabled: Boolean(began) }).data ?? run.data;
  useHotkeys({ "mod+Enter": () => run.mutate() });
  const actions = (
    <>
      <div className="w-36">
        <Choice
          label="Language"
          hideLabel
          value={language}
          onChange={(event) => void navigate({ search: (before) => ({ ...before, language: event.target.value }) })}
        >
          <option value="typescript">TypeScript</option>
          <option value="python">Python</option>
        </Choice>
      </div>
      <Button look="primary" busy={run.isPending} onClick={() => run.mutate()}>
        <Play size={14} aria-hidden="true" /> {run.isPending ? "Running…" : "Run"}
      </Button>
    </>
  );
  return (
    <Page title="Playground" about="Code as an agent would send it." wide actions={actions}>
      <div className="grid min-w-0 gap-4 lg:grid-cols-2">
        <div className="card min-h-72 min-w-0 overflow-hidden focus-within:border-accent">
          <Suspense fallback={<Skeleton rows={6} className="p-4" />}>
            <Editor
              key={language}
              start={first}
              language={language}
              onRun={() => run.mutate()}
              onChange={(text) => {
                code.current = text;
                setShown(text);
              }}
            />
          </Suspense>
        </div>
        <div className="min-w-0">
          {run.error ? <Trouble error={run.error} /> : null}
          {live ? <Ran execution={live} /> : !run.error && <Empty title="The result appears here" />}
        </div>
      </div>
      <div className="mt-4">
        <Command text={command("call", shown.trim())} />
      </div>
      <Earlier />
    </Page>
  );
}

function Ran({ execution }: { execution: Execution }) {
  return (
    <div className="space-y-4">
      <Outcome execution={execution} />
      {execution.logs.length > 0 && (
        <div className="card px-4 py-3">
          <Log lines={execution.logs} />
        </div>
      )}
    </div>
  );
}

function Earlier() {
  const found = useQuery(executions(undefined, undefined)).data?.items ?? [];
  if (found.length === 0) return null;
  return (
    <div className="mt-4">
      <Section title="Earlier">
        <ul className="-my-2 divide-y divide-line">
          {found.slice(0, 8).map((one) => (
            <li key={one.executionId}>
              <Link
                to="/playground"
                search={{ from: one.executionId }}
                className="flex items-center gap-3 py-2 text-sm hover:text-accent"
              >
                <StatusBadge status={one.status} />
                <code className="min-w-0 flex-1 truncate font-mono text-xs">{visible(one.preview)}</code>
                <span className="text-dim text-xs">
                  <Ago at={one.createdAt} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      </Section>
    </div>
  );
}
