// Desktop notifications, only where somebody has switched them on. They tell that there is a question, not what it is.
import type { LiveEvent } from "@/api/types";

const WANTED = "executor.notices";

export function noticesAreOn(): boolean {
  return "Notification" in window && Notification.permission === "granted" && localStorage.getItem(WANTED) === "on";
}

export async function switchNotices(on: boolean): Promise<boolean> {
  if (on && "Notification" in window && Notification.permission !== "granted") await Notification.requestPermission();
  localStorage.setItem(WANTED, on ? "on" : "off");
  return noticesAreOn();
}

export function notifyOf(event: LiveEvent): void {
  if (event.type !== "interaction.requested" || document.visibilityState === "visible" || !noticesAreOn()) return;
  const notice = new Notification("A decision is needed", {
    body: "An execution waits for you.",
    tag: String(event.data.id ?? "interaction"),
  });
  notice.onclick = () => {
    window.focus();
    window.location.assign("/approvals");
  };
}
