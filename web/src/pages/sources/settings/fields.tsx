import type { Source } from "@/api/types";
import { Choice, TextField } from "@/ui/field";
import type { Draft } from "./draft";
import { Pairs } from "./pairs";

type Props = { source: Source; draft: Draft; onChange: (made: Partial<Draft>) => void };

const SHARED = { spellCheck: false, autoComplete: "off" } as const;
const INTERVALS: [seconds: string, title: string][] = [
  ["", "Default"],
  ["0", "Never"],
  ["600", "Every 10 minutes"],
  ["3600", "Every hour"],
  ["86400", "Every day"],
  ["604800", "Every week"],
];

export function ConnectionFields({ source, draft, onChange }: Props) {
  if (source.command) return <CommandFields source={source} draft={draft} onChange={onChange} />;
  const hasDocument = source.kind === "openapi" || source.kind === "graphql";
  const text = (name: "location" | "specUrl" | "baseUrl") => ({
    ...SHARED,
    value: draft[name],
    onChange: (event: { target: { value: string } }) => onChange({ [name]: event.target.value }),
  });
  return (
    <>
      <TextField
        label="Address"
        {...text("location")}
        hint={source.location ? undefined : "Added as a document, without an address"}
      />
      {hasDocument && (
        <TextField
          label="Document address"
          {...text("specUrl")}
          hint="Only if the document is not at the address itself"
        />
      )}
      {hasDocument && (
        <TextField label="Base URL" {...text("baseUrl")} hint="Where calls go. Empty: what the document says" />
      )}
      {source.kind === "mcp" && <Transport draft={draft} onChange={onChange} />}
      {source.kind !== "python" && (
        <Pairs title="Headers" one="header" pairs={draft.headers} onChange={(headers) => onChange({ headers })} />
      )}
    </>
  );
}

function Transport({ draft, onChange }: Omit<Props, "source">) {
  return (
    <Choice label="Transport" value={draft.transport} onChange={(event) => onChange({ transport: event.target.value })}>
      <option value="auto">Detect it</option>
      <option value="http">Streamable HTTP</option>
      <option value="sse">SSE</option>
    </Choice>
  );
}

/** What runs on this machine is for its operator alone, who is the only one to see these. */
function CommandFields({ draft, onChange }: Props) {
  return (
    <>
      <TextField
        {...SHARED}
        label="Command"
        className="font-mono text-xs"
        value={draft.command}
        onChange={(event) => onChange({ command: event.target.value })}
        hint="Runs on this machine with your permissions"
      />
      <TextField
        {...SHARED}
        label="Working directory"
        className="font-mono text-xs"
        value={draft.directory}
        onChange={(event) => onChange({ directory: event.target.value })}
      />
      <Pairs
        title="Environment"
        one="variable"
        pairs={draft.environment}
        onChange={(environment) => onChange({ environment })}
      />
    </>
  );
}

/** Which changed tools of an MCP server wait until someone has looked at them. */
export function ReviewMode({ draft, onChange }: Omit<Props, "source">) {
  return (
    <Choice
      label="Review changed tools"
      value={draft.review}
      onChange={(event) => onChange({ review: event.target.value })}
      hint="If the server changes a tool, its old definition stays in use until someone accepts the new one"
    >
      <option value="">Default</option>
      <option value="writes">Tools that write</option>
      <option value="all">All tools</option>
      <option value="none">No tools</option>
    </Choice>
  );
}

export function RefreshInterval({ draft, onChange }: Omit<Props, "source">) {
  const known = INTERVALS.some(([seconds]) => seconds === draft.refresh);
  return (
    <Choice
      label="Refresh"
      value={draft.refresh}
      onChange={(event) => onChange({ refresh: event.target.value })}
      hint="How often its tools are updated. By default, as the daemon is configured"
    >
      {INTERVALS.map(([seconds, title]) => (
        <option key={seconds} value={seconds}>
          {title}
        </option>
      ))}
      {!known && <option value={draft.refresh}>{`Every ${draft.refresh} seconds`}</option>}
    </Choice>
  );
}
