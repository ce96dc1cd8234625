import { Download } from "lucide-react";
import { useMemo } from "react";
import { write } from "@/api/json";
import { command } from "@/text/code";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { saveFile } from "@/ui/download";
import { Empty, Skeleton, Trouble } from "@/ui/states";
import { type Filters, wanted } from "./filters";
import { ManifestList } from "./list";
import { useManifest } from "./queries";
import { Toolbar } from "./toolbar";

type Props = {
  /** Of this source only; without one, of all. */
  source?: { id: string; namespace: string };
  filters: Filters;
  onChange: (made: Filters) => void;
};

/** Every tool with its effect, the digest of its version and the policy in force. */
export function Manifest({ source, filters, onChange }: Props) {
  const { tools, sources, pending, whole, error } = useManifest(source?.id);
  const shown = useMemo(() => wanted(tools, filters), [tools, filters]);
  const ids = useMemo(() => new Map(sources.map((one) => [one.namespace, one.id])), [sources]);
  const save = () => saveFile(`${source?.namespace ?? "tools"}.manifest.json`, write({ sources, items: tools }, 2));
  if (error) return <Trouble error={error} />;
  return (
    <section aria-label="Manifest" className="min-w-0">
      <Toolbar
        filters={filters}
        sources={source ? undefined : sources.map((one) => one.namespace)}
        onChange={onChange}
      />
      {pending ? (
        <Skeleton rows={12} />
      ) : shown.length ? (
        <ManifestList tools={shown} ids={ids} />
      ) : (
        <Empty title={tools.length ? "Nothing matches these filters" : "There are no tools yet"} />
      )}
      <div className="mt-2 flex flex-wrap items-center gap-3">
        <p role="status" className="text-dim text-xs">
          {shown.length.toLocaleString("en")} of {tools.length.toLocaleString("en")} tools{whole ? "" : ", loading…"}
        </p>
        <Button size="small" className="ml-auto" disabled={!whole} onClick={save}>
          <Download size={13} aria-hidden="true" /> Download
        </Button>
      </div>
      <div className="mt-3">
        <Command text={command("sources", "manifest", ...(source ? [source.namespace] : []))} />
      </div>
    </section>
  );
}
