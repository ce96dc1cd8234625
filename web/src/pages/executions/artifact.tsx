import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { parse } from "@/api/json";
import type { Artifact } from "@/api/types";
import { size } from "@/text/size";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { Loaded } from "@/ui/states";
import { tellProblem } from "@/ui/toast";
import { Tree } from "@/ui/tree";
import { artifact, contentOf, isPicture, picture } from "./kept";

// A text is one piece; of a value only what is opened is drawn.
const LARGEST_TEXT = 2_000_000;
const LARGEST_VALUE = 20_000_000;

/** A picture, a text, or a value cut down; all of it may come from a stranger, so none of it is markup. */
export function Preview({ kept }: { kept: Artifact }) {
  if (isPicture(kept)) return <Picture kept={kept} />;
  if (kept.mediaType !== "application/json" && kept.mediaType !== "text/plain")
    return <p className="text-dim text-sm">Files of this type can't be shown here. Download it to view it.</p>;
  return <Value kept={kept} />;
}

function Picture({ kept }: { kept: Artifact }) {
  const asked = useQuery(picture(kept.executionId, kept));
  return (
    <Loaded asked={asked} rows={4}>
      {(address) => (
        <img
          src={address}
          alt={visible(kept.name)}
          className="max-h-96 max-w-full rounded-lg border border-line bg-raised"
        />
      )}
    </Loaded>
  );
}

function Value({ kept }: { kept: Artifact }) {
  const asked = useQuery(artifact(kept.executionId, kept.id));
  const [whole, setWhole] = useState<unknown>();
  const load = async () => {
    try {
      const text = new TextDecoder().decode(await contentOf(kept.id));
      setWhole(kept.mediaType === "text/plain" ? text : parse(text));
    } catch (error) {
      tellProblem(error);
    }
  };
  return (
    <Loaded asked={asked} rows={4}>
      {(found) => (
        <div className="min-w-0 space-y-2">
          <Shown value={whole === undefined ? found.preview : whole} />
          {whole === undefined && <Cuts kept={found} />}
          {whole === undefined && <Rest kept={kept} onLoad={load} />}
        </div>
      )}
    </Loaded>
  );
}

function Rest({ kept, onLoad }: { kept: Artifact; onLoad: () => void }) {
  const most = kept.mediaType === "text/plain" ? LARGEST_TEXT : LARGEST_VALUE;
  if (kept.size > most) return <p className="text-dim text-xs">It is too large for this page: download it.</p>;
  return (
    <Button size="small" onClick={onLoad}>
      Show all {size(kept.size)}
    </Button>
  );
}

function Shown({ value }: { value: unknown }) {
  if (typeof value !== "string") return <Tree value={value ?? null} label="preview" bounded />;
  return (
    <section
      aria-label="Text"
      tabIndex={0}
      className="max-h-96 overflow-auto whitespace-pre-wrap rounded-lg border border-line bg-raised/60 px-3 py-2 font-mono text-xs leading-5 [overflow-wrap:anywhere]"
    >
      {visible(value, "\n\t")}
    </section>
  );
}

function Cuts({ kept }: { kept: Artifact }) {
  if (kept.cut.length === 0) return null;
  return (
    <ul aria-label="Not in the preview" className="text-dim text-xs">
      {kept.cut.map((one) => (
        <li key={one.at} className="break-words">
          <code className="font-mono">{one.at ? visible(one.at) : "the whole"}</code>: {one.shown} of{" "}
          {one.total.toLocaleString("en")} {one.what} shown
        </li>
      ))}
      {kept.uncounted > 0 && <li>and {kept.uncounted.toLocaleString("en")} more places</li>}
    </ul>
  );
}
