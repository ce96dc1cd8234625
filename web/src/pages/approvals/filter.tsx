import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { get } from "@/api/client";
import { sources } from "@/api/queries";
import { visible } from "@/text/visible";
import { Choice } from "@/ui/field";
import type { Wanted } from "./queries";

const SHOWN: [string, string][] = [
  ["", "Waiting"],
  ["approved", "Allowed"],
  ["denied", "Denied"],
  ["expired", "Expired"],
  ["cancelled", "Cancelled"],
  ["superseded", "Replaced"],
  ["all", "Everything"],
];

/** Which requests are listed. It is part of the address, so that it can be kept and sent. */
export function Filter({ wanted }: { wanted: Wanted }) {
  const { id } = useParams({ strict: false });
  const navigate = useNavigate();
  const known = useQuery(sources).data?.items ?? [];
  const agents = useQuery({
    queryKey: ["agents"],
    queryFn: ({ signal }) => get("/v1/agents", signal),
  }).data?.items;
  const set = (change: Wanted) => {
    const search = { ...wanted, ...change };
    void (id ? navigate({ to: "/approvals/$id", params: { id }, search }) : navigate({ to: "/approvals", search }));
  };
  return (
    <div className="mb-3 flex flex-wrap gap-2 [&>*]:min-w-38 [&>*]:flex-1">
      <Choice
        hideLabel
        label="Show"
        value={wanted.show ?? ""}
        onChange={(event) => set({ show: event.target.value || undefined })}
      >
        {SHOWN.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </Choice>
      <Choice
        hideLabel
        label="Requested by"
        value={wanted.actor ?? ""}
        onChange={(event) => set({ actor: event.target.value || undefined })}
      >
        <option value="">All agents</option>
        <Kept value={wanted.actor} known={(agents ?? []).map((one) => one.id)} />
        {agents?.map((one) => (
          <option key={one.id} value={one.id}>
            {visible(one.name)}
          </option>
        ))}
      </Choice>
      <Choice
        hideLabel
        label="Source"
        value={wanted.source ?? ""}
        onChange={(event) => set({ source: event.target.value || undefined })}
      >
        <option value="">All sources</option>
        <Kept value={wanted.source} known={known.map((one) => one.namespace)} />
        {known.map((one) => (
          <option key={one.id} value={one.namespace}>
            {visible(one.namespace)}
          </option>
        ))}
      </Choice>
    </div>
  );
}

/** What the address names and the list lacks: a person's own runs, or something that is gone. */
function Kept({ value, known }: { value: string | undefined; known: string[] }) {
  return value && !known.includes(value) ? <option value={value}>{visible(value)}</option> : null;
}
