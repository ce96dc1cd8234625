import { useId } from "react";
import { AGES } from "@/pages/executions/filters";
import { Choice, TextField } from "@/ui/field";
import { Typed } from "@/ui/typed";
import type { AuditEvent, Filters } from "./queries";

const KINDS: [type: string, title: string][] = [
  ["policy.*", "Policies"],
  ["interaction.*", "Approvals and decisions"],
  ["source.*", "Sources"],
  ["secret.*", "Secrets"],
  ["connection.*", "Connections"],
  ["login.*", "Logins to services"],
  ["key.*", "Keys"],
  ["agent.*", "Agents"],
  ["session.*", "Sign-ins"],
  ["member.*", "Members"],
  ["invitation.*", "Invitations"],
  ["execution.*", "Executions"],
  ["call.*", "Calls"],
  ["request.refused", "Refused requests"],
  ["audit.*", "The audit log itself"],
  ["daemon.*", "The daemon"],
];

type Props = { filters: Filters; onChange: (made: Filters) => void; seen: AuditEvent[] };

export function AuditFilters({ filters, onChange, seen }: Props) {
  const names = useId();
  const known = KINDS.some(([type]) => type === filters.type);
  const dated = (text: string | undefined) => (/^\d{4}-/.test(text ?? "") ? text : "");
  return (
    <search aria-label="Filters" className="mb-4 grid grid-cols-2 items-end gap-2.5 md:grid-cols-5">
      <Typed
        label="Who"
        list={names}
        placeholder="a name"
        value={filters.actor}
        onTyped={(actor) => onChange({ actor })}
      />
      <datalist id={names}>
        {[...new Set(seen.map((one) => one.actor))].map((name) => name && <option key={name} value={name} />)}
      </datalist>
      <Choice
        label="What"
        value={filters.type ?? ""}
        onChange={(event) => onChange({ type: event.target.value || undefined })}
      >
        <option value="">Everything</option>
        {KINDS.map(([type, title]) => (
          <option key={type} value={type}>
            {title}
          </option>
        ))}
        {filters.type && !known && <option value={filters.type}>{filters.type}</option>}
      </Choice>
      <Choice
        label="When"
        value={dated(filters.since) ? "dated" : (filters.since ?? "")}
        onChange={(event) => onChange({ since: event.target.value || undefined, until: undefined })}
      >
        <option value="">Any time</option>
        {AGES.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
        {dated(filters.since) && <option value="dated">Since…</option>}
      </Choice>
      <TextField
        label="From"
        type="datetime-local"
        value={dated(filters.since)}
        onChange={(event) => onChange({ since: event.target.value || undefined })}
      />
      <TextField
        label="Until"
        type="datetime-local"
        value={dated(filters.until)}
        onChange={(event) => onChange({ until: event.target.value || undefined })}
      />
    </search>
  );
}
