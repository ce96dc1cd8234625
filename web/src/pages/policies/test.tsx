import { useMutation } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { post } from "@/api/client";
import { parse, write } from "@/api/json";
import { command } from "@/text/code";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { TextArea, TextField } from "@/ui/field";
import { Section } from "@/ui/page";
import { Trouble } from "@/ui/states";
import { Verdict } from "./verdict";

type Asked = { path: string; actor?: string; arguments?: Record<string, unknown> };

/** What would happen to a call, without making it. */
export function TestBox() {
  const { path } = useSearch({ from: "/shell/policies" });
  const [wrong, setWrong] = useState("");
  const test = useMutation({ mutationFn: (body: Asked) => post("/v1/policies/test", body) });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const entered = new FormData(event.currentTarget);
    const given = (name: string) => String(entered.get(name) ?? "").trim();
    const asked: Asked = { path: given("path"), ...(given("actor") ? { actor: given("actor") } : {}) };
    try {
      if (given("arguments")) asked.arguments = parse(given("arguments")) as Asked["arguments"];
      setWrong("");
      test.mutate(asked);
    } catch {
      setWrong("This is not JSON");
    }
  };
  return (
    <Section title="Test" about="See which policy would decide. Nothing is called.">
      <form key={path} onSubmit={submit} className="grid items-start gap-3 sm:grid-cols-2">
        <TextField
          name="path"
          label="Tool"
          defaultValue={path ?? ""}
          placeholder="github.issues.create"
          required
          spellCheck={false}
          className="font-mono"
        />
        <TextField name="actor" label="Calling actor (default: you)" placeholder="agent" autoComplete="off" />
        <div className="sm:col-span-2">
          <TextArea
            name="arguments"
            label="Arguments (optional, JSON)"
            placeholder='{"owner": "acme"}'
            rows={2}
            error={wrong}
            spellCheck={false}
            className="font-mono"
          />
        </div>
        <div>
          <Button type="submit" busy={test.isPending}>
            Test
          </Button>
        </div>
      </form>
      <div role="status" className="text-sm not-empty:mt-3">
        {test.error ? <Trouble error={test.error} /> : null}
        {test.data && !test.error && <Verdict decision={test.data} />}
      </div>
      {test.data && test.variables && (
        <div className="mt-3">
          <Command text={asCommand(test.variables)} />
        </div>
      )}
    </Section>
  );
}

function asCommand({ path, actor, arguments: given }: Asked): string {
  const more = [...(given ? ["--arguments", write(given)] : []), ...(actor ? ["--actor", actor] : [])];
  return command("policies", "test", path, ...more, "--why");
}
