import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { chooseWorkspace, post, query } from "@/api/client";
import { visible } from "@/text/visible";
import { Button, looks } from "@/ui/button";
import { Command } from "@/ui/copy";
import { TextField } from "@/ui/field";
import { Skeleton, Trouble } from "@/ui/states";
import { safePath, takeFragment } from "./fragment";
import { SignInFrame } from "./frame";
import { anonymousOffered, offered } from "./offered";

export function SignInPage() {
  const { to } = useSearch({ from: "/sign-in" });
  const [state, setState] = useState<"asking" | "spending">("asking");
  const [error, setError] = useState<unknown>(null);
  const navigate = useNavigate();
  const client = useQueryClient();
  const begun = useRef(false);

  const spend = useCallback(
    async (token: string) => {
      setState("spending");
      setError(null);
      try {
        await post("/v1/auth/sign-in", { token });
        chooseWorkspace("");
        client.clear();
        await navigate({ href: safePath(to), replace: true });
      } catch (problem) {
        setError(problem);
        setState("asking");
      }
    },
    [client, navigate, to],
  );

  useEffect(() => {
    if (begun.current) return;
    begun.current = true;
    const token = takeFragment();
    if (token) void spend(token);
  }, [spend]);

  return (
    <SignInFrame title="Sign in to Executor">
      {state === "spending" ? <Skeleton rows={2} /> : <Asking onToken={spend} error={error} />}
    </SignInFrame>
  );
}

function Asking({ onToken, error }: { onToken: (token: string) => void; error: unknown }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = String(new FormData(event.currentTarget).get("link") ?? "").trim();
    const token = given.includes("#") ? given.slice(given.indexOf("#") + 1) : given;
    if (token) onToken(token);
  };
  return (
    <div className="space-y-5">
      {error ? <Trouble error={error} /> : null}
      <Provider />
      <div>
        <p className="mb-2 text-sm">In a terminal on the machine where Executor runs:</p>
        <Command text="executor web" />
        <p className="mt-2 text-dim text-xs">
          This opens a link that signs this browser in. The link works once, for ten minutes.
        </p>
      </div>
      <form onSubmit={submit} className="space-y-3 border-line border-t pt-4">
        <TextField
          name="link"
          label="Or paste the link"
          autoComplete="off"
          spellCheck={false}
          placeholder="http://…/sign-in#…"
        />
        <Button type="submit" className="w-full">
          Sign in
        </Button>
      </form>
      <WithoutAccount />
    </div>
  );
}

/** Where the operator has configured one. A plain link: it leaves this page, and says for where. */
function Provider() {
  const { to } = useSearch({ from: "/sign-in" });
  const { data } = useQuery(offered);
  if (!data?.offered) return null;
  return (
    <div className="border-line border-b pb-5">
      <a
        href={`/v1/auth/oidc/start${query({ return_to: safePath(to) })}`}
        className={`${looks("primary", "large")} w-full`}
      >
        Sign in with your identity provider
      </a>
      <p className="mt-2 truncate text-center text-dim text-xs">{visible(hostOf(data.issuer ?? ""))}</p>
    </div>
  );
}

/** Where the operator lets strangers in. Browsers say which page asks only over https and on their own machine. */
function WithoutAccount() {
  const { to } = useSearch({ from: "/sign-in" });
  const { data } = useQuery(anonymousOffered);
  const navigate = useNavigate();
  const client = useQueryClient();
  const enter = useMutation({
    mutationFn: () => post("/v1/auth/anonymous/browser"),
    onSuccess: async () => {
      chooseWorkspace("");
      client.clear();
      await navigate({ href: safePath(to), replace: true });
    },
  });
  if (!data?.offered || !window.isSecureContext) return null;
  return (
    <div className="border-line border-t pt-4">
      {enter.error ? <Trouble error={enter.error} /> : null}
      <Button className="w-full" busy={enter.isPending} onClick={() => enter.mutate()}>
        Continue without an account
      </Button>
      <p className="mt-2 text-dim text-xs">
        Opens an anonymous workspace in this browser. It is deleted after a week, and sees nothing of others.
      </p>
    </div>
  );
}

function hostOf(address: string): string {
  try {
    return new URL(address).host;
  } catch {
    return address;
  }
}
