import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { FormEvent, ReactNode } from "react";
import { post } from "@/api/client";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { Once } from "./once";

type Props = {
  what: string;
  path: "/v1/keys" | "/v1/agents";
  extra: object;
  renew: string;
  children?: ReactNode;
  use?: (token: string) => ReactNode;
};

/** Makes a key or an agent; its token is in that one answer, and nowhere afterwards. `use` shows what to do with it. */
export function Maker({ what, path, extra, renew, children, use }: Props) {
  const client = useQueryClient();
  const make = useMutation({
    mutationFn: (name: string) => post(path, { name, ...extra }),
    onSuccess: () => client.invalidateQueries({ queryKey: [renew] }),
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    make.mutate(String(new FormData(event.currentTarget).get("name") ?? ""));
    event.currentTarget.reset();
  };
  return (
    <div className="max-w-lg space-y-3">
      {make.data && (
        <Once title={`The token of ${visible(make.data.name)}`} text={make.data.token} onDone={() => make.reset()}>
          {use?.(make.data.token)}
        </Once>
      )}
      {make.error ? <Trouble error={make.error} /> : null}
      <form onSubmit={submit} className="space-y-3 border-line border-t pt-4">
        <TextField name="name" label={`Name of the new ${what}`} required maxLength={100} autoComplete="off" />
        {children}
        <Button type="submit" busy={make.isPending}>
          Create the {what}
        </Button>
      </form>
    </div>
  );
}
