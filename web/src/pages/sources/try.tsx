import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useRef, useState } from "react";
import { isNested, parse, rounded, write } from "@/api/json";
import type { Tool } from "@/api/types";
import { callCode, calledWith, command } from "@/text/code";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { TextArea } from "@/ui/field";
import { Skeleton } from "@/ui/states";
import { Outcome, RunTrouble } from "../executions/outcome";
import { type Run, useRun } from "../executions/run";
import { collect, INEXACT, type Problems } from "./form/collect";
import { Inputs } from "./form/inputs";
import { type Draft, fieldsOf, initialFields } from "./form/shape";
import { asSchema, resolved } from "./schema";

/** A call like any other, with its policies, approvals, credentials and journal. Its run is part of the address, and gives
 * the form back what it was called with. */
export function TryIt({ tool }: { tool: Tool }) {
  const { args, run: id } = useSearch({ from: "/shell/sources/$id" });
  const navigate = useNavigate({ from: "/sources/$id" });
  const show = (wanted: string | undefined) =>
    navigate({ search: (before) => ({ ...before, run: wanted }), replace: true, resetScroll: false });
  const run = useRun(id, show);
  const opened = useRef(id).current;
  if (opened && opened === id && !run.shown && !run.missing) return <Skeleton rows={4} />;
  const code = run.shown?.code ?? "";
  const called = calledWith(tool.path, code);
  return (
    <div className="space-y-4">
      <Form tool={tool} run={run} called={asObject(called)} given={given(args)} />
      {run.error ? <RunTrouble run={run} /> : null}
      {run.shown && !run.error && (called === undefined ? <Elsewhere run={run} /> : <Outcome execution={run.shown} />)}
      {called !== undefined && <Command text={command("call", code)} />}
    </div>
  );
}

/** The address names a run that is not a call of this tool. */
function Elsewhere({ run }: { run: Run }) {
  const id = run.shown?.executionId ?? "";
  return (
    <div role="note" className="rounded-xl border border-line px-4 py-3 text-sm">
      <p>
        The run{" "}
        <Link to="/executions/$id" params={{ id }} className="font-mono text-accent text-xs underline">
          {id}
        </Link>{" "}
        is not a call of this tool from this page.
      </p>
      <Button size="small" className="mt-2" onClick={run.forget}>
        Close this run
      </Button>
    </div>
  );
}

type FormProps = { tool: Tool; run: Run; called: object | null; given: object | null };

/** It begins with what was `called`, or with what was `given` for a call. */
function Form({ tool, run, called, given }: FormProps) {
  const root = asSchema(tool.inputSchema);
  const fields = fieldsOf(resolved(root, root));
  const [drafts, setDrafts] = useState<{ [name: string]: Draft }>(() =>
    initialFields(fields, root, called ?? given ?? tool.exampleArguments ?? {}, Boolean(called ?? given)),
  );
  const [json, setJson] = useState<string | null>(() =>
    called === null || write(collect(fields, drafts, root).value) === write(called) ? null : write(called, 2),
  );
  const [problems, setProblems] = useState<Problems>({});
  const form = useRef<HTMLFormElement>(null);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const told = json === null ? collect(fields, drafts, root) : written(json);
    setProblems(told.problems);
    if (Object.keys(told.problems).length > 0) {
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus());
      return;
    }
    run.begin.mutate({ code: callCode(tool.path, told.value) });
  };
  const turn = () => setJson(json === null ? write(collect(fields, drafts, root).value, 2) : null);
  return (
    <form ref={form} onSubmit={submit} noValidate className="space-y-3">
      {json !== null ? (
        <TextArea
          label="Arguments as JSON"
          rows={10}
          spellCheck={false}
          className="font-mono text-xs"
          value={json}
          error={problems[""]}
          onChange={(event) => setJson(event.target.value)}
        />
      ) : fields.length === 0 ? (
        <p className="text-dim text-sm">It takes no arguments.</p>
      ) : (
        <Inputs fields={fields} drafts={drafts} onChange={setDrafts} root={root} problems={problems} at="" depth={0} />
      )}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="primary" busy={run.begin.isPending}>
          {run.begin.isPending ? "Running…" : "Run"}
        </Button>
        <Button look="ghost" onClick={turn}>
          {json === null ? "Edit as JSON" : "Back to the form"}
        </Button>
      </div>
    </form>
  );
}

/** Arguments that the address brings along. */
function given(args: string | undefined): object | null {
  return args ? asObject(written(args).value) : null;
}

function asObject(value: unknown): object | null {
  return isNested(value) && !Array.isArray(value) ? value : null;
}

function written(text: string): { value: unknown; problems: Problems } {
  try {
    const value = parse(text || "{}");
    return { value, problems: rounded(value) === undefined ? {} : { "": INEXACT } };
  } catch (error) {
    return { value: undefined, problems: { "": `This is not JSON: ${error instanceof Error ? error.message : ""}` } };
  }
}
