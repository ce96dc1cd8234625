import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { type Address, patch, post } from "@/api/client";
import { whoami } from "@/api/queries";
import type { Who } from "@/api/types";
import { useEnter, useWorkspaces, type Workspace } from "@/shell/entering";
import { useUnsaved } from "@/shell/unsaved";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Identifier } from "@/ui/copy";
import { TextField } from "@/ui/field";
import { Section } from "@/ui/page";
import { Reserved } from "@/ui/reserved";
import { Loaded } from "@/ui/states";
import { tell, tellProblem } from "@/ui/toast";

export function Place() {
  const asked = useQuery(whoami);
  return (
    <Loaded asked={asked} rows={6}>
      {(who) => (
        <>
          <Section
            title="Organization"
            about="Its policies apply in every workspace."
            actions={<Identifier id={who.organization.id} />}
          >
            <Name
              label="Name of the organization"
              value={who.organization.name}
              may={who.permissions.includes("own")}
              who="an owner"
              path={`/v1/organizations/${who.organization.id}`}
            />
          </Section>
          <Section
            title="This workspace"
            about="Sources, secrets, policies and executions belong to a workspace."
            actions={<Identifier id={who.workspace.id} />}
          >
            <Name
              label="Name of the workspace"
              value={who.workspace.name}
              may={who.permissions.includes("manage")}
              who="an admin"
              path={`/v1/workspaces/${who.workspace.id}`}
            />
          </Section>
          <Workspaces who={who} />
        </>
      )}
    </Loaded>
  );
}

type NameProps = {
  label: string;
  value: string;
  may: boolean;
  who: string;
  path: Extract<Address<"patch">, `/v1/organizations/${string}` | `/v1/workspaces/${string}`>;
};

function Name({ label, value, may, who, path }: NameProps) {
  const client = useQueryClient();
  const [typed, setTyped] = useState(value);
  const dirty = may && typed.trim() !== value;
  const save = useMutation({
    mutationFn: (name: string) => patch(path, { name }),
    onSuccess: () => {
      client.invalidateQueries();
      tell("Renamed");
    },
    onError: tellProblem,
  });
  useUnsaved(dirty && !save.isPending && !save.isSuccess);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(typed.trim());
  };
  return (
    <>
      {!may && <Reserved who={who}>You can't rename it.</Reserved>}
      <form onSubmit={submit} className="flex max-w-lg items-end gap-2">
        <div className="min-w-0 flex-1">
          <TextField
            label={label}
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            disabled={!may}
            required
            maxLength={100}
            autoComplete="off"
          />
        </div>
        {may && (
          <Button type="submit" busy={save.isPending} disabled={!dirty}>
            Rename
          </Button>
        )}
      </form>
    </>
  );
}

function Workspaces({ who }: { who: Who }) {
  const places = useWorkspaces();
  return (
    <Section title="Workspaces" about="Workspaces you can use. Each tab stays in its workspace.">
      <ul aria-label="Workspaces" className="divide-y divide-line">
        {places.map((place) => (
          <Entry key={place.id} place={place} />
        ))}
      </ul>
      {who.permissions.includes("manage") ? (
        <NewWorkspace />
      ) : (
        <div className="mt-3">
          <Reserved who="an admin">You can't create workspaces.</Reserved>
        </div>
      )}
    </Section>
  );
}

function Entry({ place }: { place: Workspace }) {
  const enter = useEnter();
  return (
    <li className="flex min-h-12 flex-wrap items-center gap-x-3 gap-y-1 py-2 text-sm">
      <span className="min-w-0 truncate font-medium">{visible(place.name)}</span>
      <span className="text-dim text-xs">{visible(place.organization.name)}</span>
      {place.role && <Badge>{place.role}</Badge>}
      <span className="ml-auto">
        {place.current ? (
          <Badge tone="ok">✓ current</Badge>
        ) : (
          <Button size="small" onClick={() => void enter(place.id)}>
            Switch
          </Button>
        )}
      </span>
    </li>
  );
}

function NewWorkspace() {
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: (name: string) => post("/v1/workspaces", { name }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["workspaces"] }),
    onError: tellProblem,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    make.mutate(String(new FormData(event.currentTarget).get("name") ?? ""));
    event.currentTarget.reset();
  };
  return (
    <form onSubmit={submit} className="mt-3 flex max-w-lg items-end gap-2 border-line border-t pt-4">
      <div className="min-w-0 flex-1">
        <TextField name="name" label="New workspace" placeholder="Name" required maxLength={100} autoComplete="off" />
      </div>
      <Button type="submit" busy={make.isPending}>
        Create
      </Button>
    </form>
  );
}
