import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { post } from "@/api/client";
import type { components } from "@/api/schema";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Choice, TextArea, TextField } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { agents, repositories } from "./queries";

type Body = components["schemas"]["NewSessionBody"];

const MODES: [Body["permissionMode"], string][] = [
  ["default", "Ask before it acts"],
  ["acceptEdits", "Edit files, ask for the rest"],
  ["plan", "Only read and plan"],
  ["bypassPermissions", "Never ask"],
];
const ISOLATIONS: [string, string][] = [
  ["", "As strict as the settings say"],
  ["sandbox", "Sandbox: no network, own file system"],
  ["strict", "Strict: own Unix user"],
  ["insulated", "Insulated: limits on resources"],
  ["simple", "Simple: clean environment only"],
];

export function NewSession({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="New session">
      {open && <Form />}
    </Dialog>
  );
}

function Form() {
  const navigate = useNavigate();
  const known = useQuery(repositories).data?.items ?? [];
  const choices = useQuery(agents).data?.items ?? [];
  const [wanted, setWanted] = useState({
    agent: "",
    repository: "",
    cwd: "",
    permissionMode: "default",
    isolation: "",
    unixUser: "",
    budget: "",
    prompt: "",
  });
  const chosen =
    choices.find((one) => one.name === wanted.agent) ??
    choices.find((one) => one.provider && !one.problem) ??
    choices[0];
  const start = useMutation({
    mutationFn: () => {
      const { budget, isolation, prompt, unixUser, ...rest } = wanted;
      return post("/v1/sessions", {
        ...rest,
        agent: chosen?.name ?? "",
        permissionMode: rest.permissionMode as Body["permissionMode"],
        isolation: (isolation || null) as Body["isolation"],
        unixUser: isolation === "strict" ? unixUser : "",
        budget: budget ? { usd: Number(budget) } : null,
        prompt: prompt || null,
      });
    },
    onSuccess: ({ id }) => void navigate({ to: "/sessions/$id", params: { id } }),
  });
  const field = (name: keyof typeof wanted) => ({
    value: wanted[name],
    onChange: (event: { target: { value: string } }) => setWanted({ ...wanted, [name]: event.target.value }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    start.mutate();
  };
  return (
    <form onSubmit={submit} className="space-y-3">
      <Choice
        label="Agent"
        {...field("agent")}
        value={chosen?.name ?? ""}
        hint={chosen?.problem ? `${chosen.problem}. ${startSentence(chosen.hint ?? "")}` : undefined}
      >
        {choices.map((one) => (
          <option key={one.name} value={one.name}>
            {one.title}
          </option>
        ))}
      </Choice>
      <Choice label="Repository" hint="The session works in its own clone, on its own branch" {...field("repository")}>
        <option value="">None: work in a directory</option>
        {known.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </Choice>
      {!wanted.repository && (
        <TextField
          label="Directory"
          hint="On the machine where Executor runs"
          placeholder="/home/you/project"
          className="font-mono"
          {...field("cwd")}
        />
      )}
      <div className="grid gap-3 sm:grid-cols-2">
        <Choice label="Permissions" {...field("permissionMode")}>
          {MODES.filter(([value]) => !chosen || chosen.modes.includes(value as string)).map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </Choice>
        <Choice label="Isolation" {...field("isolation")}>
          {ISOLATIONS.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </Choice>
      </div>
      {wanted.isolation === "strict" && (
        <TextField
          label="Unix user"
          hint="Optional if the operator has mapped your account to one"
          className="font-mono"
          {...field("unixUser")}
        />
      )}
      <TextField
        label="Budget in US dollars"
        hint="Optional. The agent's model requests are refused beyond it"
        type="number"
        min="0.01"
        step="0.01"
        {...field("budget")}
      />
      <TextArea label="First prompt" rows={4} {...field("prompt")} />
      {start.error ? <Trouble error={start.error} /> : null}
      <Button type="submit" look="primary" busy={start.isPending}>
        Start the session
      </Button>
    </form>
  );
}

function startSentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
