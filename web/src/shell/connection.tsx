import { Link } from "@tanstack/react-router";
import { useConnectedSince, useConnection } from "@/live/live";
import type { Connection } from "@/live/stream";
import { command } from "@/text/code";
import { duration } from "@/text/time";
import { useNow } from "@/ui/time";

const TEXTS: Record<Connection, string> = {
  live: "Live",
  connecting: "Connecting…",
  reconnecting: "Reconnecting",
  refused: "Signed out",
};

/** Whether what is shown is what is. On a narrow screen only what is wrong is said. */
export function ConnectionState({ short }: { short?: boolean }) {
  const connection = useConnection();
  const live = connection === "live";
  const calm = live || connection === "connecting";
  const dot = live ? "bg-ok" : connection === "refused" ? "bg-bad" : "animate-pulse bg-warn";
  return (
    <div
      role="status"
      className={`flex min-h-7 flex-wrap items-center gap-x-2 rounded-md px-2 text-xs ${calm ? "text-dim" : "bg-warn-soft py-1 font-medium text-warn"}`}
    >
      <span aria-hidden="true" className={`size-2 shrink-0 rounded-full ${dot}`} />
      <span className={short && calm ? "sr-only" : "whitespace-nowrap"}>
        {short && connection === "reconnecting" ? "Offline:" : TEXTS[connection]}
      </span>
      {connection === "reconnecting" && !short && <Since />}
      {connection === "reconnecting" && (
        <span className={short ? "whitespace-nowrap" : "basis-full"}>
          {short ? "" : "Not running? "}
          <code className="font-mono">{command("up")}</code>
        </span>
      )}
      {connection === "refused" && (
        <Link to="/sign-in" className="ml-auto underline">
          Sign in
        </Link>
      )}
    </div>
  );
}

/** Counted for the eye only: a reader would say it every second. */
function Since() {
  const since = useConnectedSince();
  const now = useNow();
  return (
    <span aria-hidden="true" className="whitespace-nowrap tabular-nums">
      for {duration(Math.floor(Math.max(1000, now - since) / 1000) * 1000).replace(".0", "")}
    </span>
  );
}
