import { Problem } from "@/api/client";
import { visible } from "@/text/visible";
import { Trouble } from "@/ui/states";
import type { Wish } from "./add";

type Request = { method?: string; url?: string; status?: number };

const TRY: Record<string, string> = {
  dns: "The host name was not found. Check its spelling, or your network.",
  connect: "Connection refused. Is the service running, and is the port right?",
  tls: "This machine does not trust its certificate. Install its certificate authority, or use another address.",
  timeout: "It did not answer in time. Try again later.",
  status: "It answered, but not with a document. Is this the address of the document itself?",
};

/** The request that failed, what each kind said to it, and what to try. */
export function Failed({ error, wish, onRetry }: { error: unknown; wish: Wish | null; onRetry?: () => void }) {
  const details = error instanceof Problem ? error.details : {};
  const asked = asRequest(details.request) ?? (wish?.location ? { method: "GET", url: wish.location } : null);
  const tried = typeof details.tried === "object" && details.tried ? Object.entries(details.tried) : [];
  const advice = TRY[String(details.reason ?? "")] ?? "";
  return (
    <div className="mb-4">
      <Trouble error={error} onRetry={onRetry}>
        {advice && <p className="mt-1">{advice}</p>}
        {asked && (
          <p className="mt-2 break-words">
            The request that failed:{" "}
            <code className="break-all font-mono text-xs">
              {visible(`${asked.method ?? "GET"} ${asked.url ?? ""}`)}
              {asked.status ? ` → ${asked.status}` : ""}
            </code>
          </p>
        )}
        {tried.length > 0 && (
          <ul aria-label="Attempts" className="mt-2 space-y-0.5 text-xs">
            {tried.map(([kind, said]) => (
              <li key={kind} className="break-words">
                <b className="font-medium">{visible(kind)}</b>: {visible(String(said))}
              </li>
            ))}
          </ul>
        )}
      </Trouble>
    </div>
  );
}

function asRequest(value: unknown): Request | null {
  return typeof value === "object" && value !== null ? (value as Request) : null;
}
