import { useMutation, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type FormEvent, useRef, useState } from "react";
import { post } from "@/api/client";
import { parse, rounded, write } from "@/api/json";
import { execution } from "@/api/queries";
import type { Execution, Tool } from "@/api/types";
import { callCode, command } from "@/text/code";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { TextArea } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { Outcome } from "../executions/outcome";
import { collect, INEXACT, type Problems } from "./form/collect";
import { Inputs } from "./form/inputs";
import { type Draft, fieldsOf, initialFields } from "./form/shape";
import { asSchema, resolved } from "./schema";

/** A call through the normal road: rules, approvals, credentials and journal are those of any other. */
export function TryIt({ tool }: { tool: Tool }) {
  const { args } = useSearch({ from: "/shell/sources/$id" });
  const root = asSchema(tool.inputSchema);
  const fields = fieldsOf(resolved(root, root));
  const [drafts, setDrafts] = useState<{ [name: string]: Draft }>(() =>
    initialFields(fields, root, given(args) ?? tool.exampleArguments ?? {}, Boolean(args)),
  );
  const [json, setJson] = useState<string | null>(null);
  const [problems, setProblems] = useState<Problems>({});
  const [sent, setSent] = useState("");
  const form = useRef<HTMLFormElement>(null);
  const run = useMutation({
    mutationFn: (code: string) => post<Execution>("/v1/executions", { code, wait: 20, result: "preview" }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const told = json === null ? collect(fields, drafts, root) : written(json);
    setProblems(told.problems);
    if (Object.keys(told.problems).length > 0) {
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus());
      return;
    }
    const code = callCode(tool.path, told.value);
    setSent(code);
    run.mutate(code);
  };
  const turn = () => setJson(json === null ? write(collect(fields, drafts, root).value, 2) : null);
  return (
    <div className="space-y-4">
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
          <Inputs
            fields={fields}
            drafts={drafts}
            onChange={setDrafts}
            root={root}
            problems={problems}
            at=""
            depth={0}
          />
        )}
        <div className="flex flex-wrap gap-2">
          <Button type="submit" look="primary" busy={run.isPending}>
            {run.isPending ? "Running…" : "Call it"}
          </Button>
          <Button look="ghost" onClick={turn}>
            {json === null ? "Write JSON instead" : "Back to the form"}
          </Button>
        </div>
      </form>
      {run.error ? <Trouble error={run.error} /> : null}
      {run.data && <Followed started={run.data} />}
      {sent && <Command text={command("call", sent)} />}
    </div>
  );
}

/** Arguments that the address brings along. */
function given(args: string | undefined): object | null {
  const { value } = args ? written(args) : { value: null };
  return typeof value === "object" && !Array.isArray(value) ? value : null;
}

function written(text: string): { value: unknown; problems: Problems } {
  try {
    const value = parse(text || "{}");
    return { value, problems: rounded(value) === undefined ? {} : { "": INEXACT } };
  } catch (error) {
    return { value: undefined, problems: { "": `This is not JSON: ${error instanceof Error ? error.message : ""}` } };
  }
}

/** What came of it. While it waits for somebody, the live stream tells when it goes on. */
function Followed({ started }: { started: Execution }) {
  const ended = ["completed", "failed", "cancelled"].includes(started.status);
  const now = useQuery({ ...execution(started.executionId), enabled: !ended }).data;
  return <Outcome execution={now ?? started} />;
}
