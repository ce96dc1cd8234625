import { Link } from "@tanstack/react-router";
import type { Secret } from "@/api/types";
import { visible } from "@/text/visible";

/** The connections that name it, each by its source. */
export function Users({ secret }: { secret: Secret }) {
  const users = secret.usedBy ?? [];
  if (users.length === 0) return <span className="text-dim">nothing</span>;
  return (
    <ul>
      {users.map((one) => (
        <li key={one.connectionId}>
          <Link to="/sources/$id/edit" params={{ id: one.source }} className="font-mono text-accent underline">
            {visible(one.source)}
          </Link>{" "}
          <span className="text-dim">
            {visible(one.connection)}
            {one.actor && ` of ${visible(one.actor)}`}
            {one.status !== "ready" && ` (${one.status})`}
          </span>
        </li>
      ))}
    </ul>
  );
}
