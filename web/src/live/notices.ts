// Desktop notifications, only where someone has switched them on. They say that there is a request, not what it is.
import type { LiveEvent } from "@/api/types";

const WANTED = "executor.notices";

export type Notices = "on" | "off" | "blocked" | "missing";

/** `blocked`: the browser never shows any of this site. */
export function noticesState(): Notices {
  if (!("Notification" in window)) return "missing";
  if (Notification.permission === "denied") return "blocked";
  return noticesAreOn() ? "on" : "off";
}

export function noticesAreOn(): boolean {
  return "Notification" in window && Notification.permission === "granted" && localStorage.getItem(WANTED) === "on";
}

export async function switchNotices(on: boolean): Promise<boolean> {
  if (on && "Notification" in window && Notification.permission !== "granted") await Notification.requestPermission();
  localStorage.setItem(WANTED, on ? "on" : "off");
  return noticesAreOn();
}

/** One for each request, however many tabs are open: the same tag is the same notice. */
export function notifyOf(event: LiveEvent, open: (address: string) => void): void {
  if (event.type !== "interaction.requested" || document.visibilityState === "visible" || !noticesAreOn()) return;
  const id = String(event.data.id ?? "");
  const body = event.data.sessionId ? "An agent session needs your decision." : "An execution needs your decision.";
  const notice = new Notification("A decision is needed", { body, tag: id });
  notice.onclick = () => {
    window.focus();
    notice.close();
    open(addressOf(id, String(event.data.kind ?? "")));
  };
}

function addressOf(id: string, kind: string): string {
  const page = kind === "credential" || kind === "oauth" ? "connect" : "approvals";
  return `/${page}/${encodeURIComponent(id)}`;
}
