import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { chooseWorkspace, post } from "@/api/client";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";
import { Trouble } from "@/ui/states";
import { takeFragment } from "./fragment";
import { SignInFrame } from "./frame";

export function InvitationPage() {
  const token = useRef("");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const client = useQueryClient();
  useEffect(() => {
    token.current = takeFragment() || token.current;
  }, []);
  const accept = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setBusy(true);
    const name = String(new FormData(event.currentTarget).get("name") ?? "").trim();
    try {
      await post("/v1/invitations/accept", { token: token.current, name });
      chooseWorkspace("");
      client.clear();
      await navigate({ to: "/", replace: true });
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <SignInFrame title="You are invited">
      <form onSubmit={accept} className="space-y-4">
        {error ? <Trouble error={error} /> : null}
        <p className="text-dim text-sm">
          Accepting signs this browser in. If you are already signed in, you join with that account.
        </p>
        <TextField
          name="name"
          label="Your name"
          hint="Shown to others next to your actions and decisions."
          autoComplete="name"
          maxLength={100}
        />
        <Button type="submit" look="primary" className="w-full" busy={busy}>
          Accept the invitation
        </Button>
      </form>
    </SignInFrame>
  );
}
