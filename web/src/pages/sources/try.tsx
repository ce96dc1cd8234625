import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { post } from "@/api/client";
import type { Execution, Tool } from "@/api/types";
import { callCode, command } from "@/text/code";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { Choice, TextArea, TextField } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { Outcome } from "../executions/outcome";
import { argumentsOf, type Field, fieldsOf } from "./fields";

/** A call through the normal road: rules, approvals, credentials and journal are those of any other. */
export function TryIt({ tool }: { tool: Tool }) {
  const fields = fieldsOf(tool.inputSchema);
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const [sent, setSent] = useState("");
  const run = useMutation({
    mutationFn: (code: string) => post<Execution>("/v1/executions", { code, wait: 20, result: "preview" }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const { value, problems } = argumentsOf(fields, new FormData(event.currentTarget));
    setWrong(problems);
    if (Object.keys(problems).length > 0) return;
    const code = callCode(tool.path, value);
    setSent(code);
    run.mutate(code);
  };
  return (
    <div className="space-y-4">
      <form onSubmit={submit} className="space-y-3">
        {fields.length === 0 && <p className="text-dim text-sm">It takes no arguments.</p>}
        {fields.map((field) => (
          <Input key={field.name} field={field} error={wrong[field.name]} />
        ))}
        <Button type="submit" look="primary" busy={run.isPending}>
          {run.isPending ? "Running…" : "Call it"}
        </Button>
      </form>
      {run.error ? <Trouble error={run.error} /> : null}
      {run.data && <Outcome execution={run.data} />}
      {sent && <Command text={command("call", sent)} />}
    </div>
  );
}

function Input({ field, error }: { field: Field; error: string | undefined }) {
  const shared = {
    name: field.name,
    label: `${field.name}${field.required ? "" : " (optional)"}`,
    hint: field.description,
    error,
    required: field.required,
  };
  if (field.options) {
    return (
      <Choice {...shared}>
        {!field.required && <option value="" />}
        {field.options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </Choice>
    );
  }
  if (field.type === "json") {
    return (
      <TextArea {...shared} rows={3} placeholder={field.example} spellCheck={false} className="font-mono text-xs" />
    );
  }
  const type = field.type === "number" || field.type === "integer" ? "number" : "text";
  return <TextField {...shared} type={type} step={field.type === "integer" ? 1 : "any"} />;
}
