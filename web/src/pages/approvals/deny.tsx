import { type FormEvent, type KeyboardEvent, useEffect, useRef } from "react";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";

type Props = { blocked: boolean; onDeny: (reason: string) => void; onLeave: () => void };

/** Enter in the field sends the denial, Escape leaves. */
export function DenyForm({ blocked, onDeny, onLeave }: Props) {
  const reason = useRef<HTMLInputElement>(null);
  useEffect(() => {
    reason.current?.focus();
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onDeny(reason.current?.value ?? "");
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    onLeave();
  };
  return (
    <form onSubmit={submit} className="flex flex-wrap items-end gap-2">
      <div className="min-w-0 flex-1 basis-52">
        <TextField
          ref={reason}
          onKeyDown={pressed}
          label="Reason (shown to the code)"
          maxLength={2000}
          placeholder="optional"
          autoComplete="off"
        />
      </div>
      <Button type="submit" look="danger" disabled={blocked}>
        Deny
      </Button>
      <Button look="ghost" onClick={onLeave}>
        Back
      </Button>
    </form>
  );
}
