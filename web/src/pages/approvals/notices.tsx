import { Bell, BellOff } from "lucide-react";
import { useState } from "react";
import { type Notices, noticesState, switchNotices } from "@/live/notices";
import { Button } from "@/ui/button";

/** Desktop notifications of this browser, where they are wanted most. */
export function NoticesSwitch() {
  const [state, setState] = useState<Notices>(noticesState);
  if (state === "missing") return null;
  if (state === "blocked") {
    return <p className="text-dim text-xs">This browser blocks notifications from this page.</p>;
  }
  const on = state === "on";
  const Icon = on ? Bell : BellOff;
  const turn = async () => {
    await switchNotices(!on);
    setState(noticesState());
  };
  return (
    <Button look={on ? "plain" : "ghost"} aria-pressed={on} onClick={turn}>
      <Icon size={14} aria-hidden="true" /> {on ? "Notifying you" : "Notify me"}
    </Button>
  );
}
