import { useMutation } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { post } from "@/api/client";
import type { Decision } from "@/api/types";
import { visible } from "@/text/visible";
import { ActionBadge, EffectBadge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { TextArea, TextField } from "@/ui/field";
import { Section } from "@/ui/page";
import { Trouble } from "@/ui/states";

/** What would happen to a call, without making it. */
export function TestBox() {
  const { path } = useSearch({ from: "/shell/policies" });
  const [wrong, setWrong] = useState("");
  const test = useMutation({ mutationFn: (body: object) => post<Decision>("/v1/policies/test", body) });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const entered = new FormData(event.currentTarget);
    const text = String(entered.get("arguments") ?? "").trim();
    try {
      const given = text ? { arguments: JSON.parse(text) as object } : {};
      setWrong("");
      test.mutate({ path: String(entered.get("path")), ...given });
    } catch {
      setWrong("This is not JSON");
    }
  };
  return (
    <Section title="Test" about="Which rule would decide? Nothing is called.">
      <form onSubmit={submit} className="grid items-start gap-3 sm:grid-cols-2">
        <TextField
          name="path"
          label="Tool"
          defaultValue={path ?? ""}
          placeholder="github.issues.create"
          required
          spellCheck={false}
          className="font-mono"
        />
        <TextArea
          name="arguments"
          label="Arguments (optional, JSON)"
          rows={1}
          error={wrong}
          spellCheck={false}
          className="min-h-8.5 font-mono"
        />
        <div>
          <Button type="submit" busy={test.isPending}>
            Test
          </Button>
        </div>
      </form>
      <div role="status" className="mt-3 min-h-6 text-sm">
        {test.error ? <Trouble error={test.error} /> : null}
        {test.data && !test.error && (
          <p className="flex flex-wrap items-center gap-2">
            <ActionBadge action={test.data.action} /> <EffectBadge effect={test.data.effect} />{" "}
            {visible(test.data.reason)}
          </p>
        )}
      </div>
    </Section>
  );
}
