import { type FormEvent, useState } from "react";
import { parse } from "@/api/json";
import { Button } from "@/ui/button";
import { TextArea } from "@/ui/field";

/** What a call really answered whose answer was lost; anyone who gives it has looked at the service. */
export function GivenResult({ busy, onGive }: { busy: boolean; onGive: (result: unknown) => void }) {
  const [wrong, setWrong] = useState("");
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get("result") ?? "");
    try {
      onGive(parse(text));
      setWrong("");
    } catch {
      setWrong("This is not JSON");
    }
  };
  return (
    <form onSubmit={submit} className="space-y-2">
      <TextArea
        name="result"
        label="The actual result of the call, as JSON"
        hint="Check the service first. The code continues with exactly this result, and nothing is sent again."
        rows={3}
        required
        error={wrong}
        spellCheck={false}
        className="font-mono"
      />
      <Button type="submit" look="primary" disabled={busy}>
        Continue with this result
      </Button>
    </form>
  );
}
