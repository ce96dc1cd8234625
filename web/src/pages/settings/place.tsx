import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { patch, post } from "@/api/client";
import { whoami } from "@/api/queries";
import { Button } from "@/ui/button";
import { Identifier } from "@/ui/copy";
import { TextField } from "@/ui/field";
import { Section } from "@/ui/page";
import { Loaded } from "@/ui/states";
import { tell, tellProblem } from "@/ui/toast";

export function Place() {
  const asked = useQuery(whoami);
  return (
    <Loaded asked={asked}>
      {(who) => {
        const may = (permission: string) => who.permissions.includes(permission);
        return (
          <>
            <Section
              title="Organization"
              about="Its rules hold in every workspace."
              actions={<Identifier id={who.organization.id} />}
            >
              <Name
                label="Name of the organization"
                value={who.organization.name}
                may={may("own")}
                path={`/v1/organizations/${who.organization.id}`}
              />
            </Section>
            <Section
              title="Workspace"
              about="Sources, secrets, rules and executions belong to one."
              actions={<Identifier id={who.workspace.id} />}
            >
              <Name
                label="Name of the workspace"
                value={who.workspace.name}
                may={may("manage")}
                path={`/v1/workspaces/${who.workspace.id}`}
              />
              {may("manage") && <NewWorkspace />}
            </Section>
          </>
        );
      }}
    </Loaded>
  );
}

function Name({ label, value, may, path }: { label: string; value: string; may: boolean; path: string }) {
  const client = useQueryClient();
  const save = useMutation({
    mutationFn: (name: string) => patch(path, { name }),
    onSuccess: () => {
      client.invalidateQueries();
      tell("Renamed");
    },
    onError: tellProblem,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    save.mutate(String(new FormData(event.currentTarget).get("name") ?? ""));
  };
  return (
    <form onSubmit={submit} className="flex max-w-lg items-end gap-2">
      <div className="flex-1">
        <TextField
          key={value}
          name="name"
          label={label}
          defaultValue={value}
          disabled={!may}
          required
          maxLength={100}
        />
      </div>
      {may && (
        <Button type="submit" busy={save.isPending}>
          Rename
        </Button>
      )}
    </form>
  );
}

function NewWorkspace() {
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: (name: string) => post("/v1/workspaces", { name }),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["workspaces"] });
      tell("It is there: choose it in the account menu");
    },
    onError: tellProblem,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    make.mutate(String(new FormData(event.currentTarget).get("name") ?? ""));
    event.currentTarget.reset();
  };
  return (
    <form onSubmit={submit} className="mt-4 flex max-w-lg items-end gap-2 border-line border-t pt-4">
      <div className="flex-1">
        <TextField name="name" label="Another workspace" placeholder="Its name" required maxLength={100} />
      </div>
      <Button type="submit" busy={make.isPending}>
        Make it
      </Button>
    </form>
  );
}
