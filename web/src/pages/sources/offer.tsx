import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { write } from "@/api/json";
import { visible } from "@/text/visible";
import { EffectBadge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Skeleton, Trouble } from "@/ui/states";
import { firstLine } from "./description";
import { follow, useProgress } from "./follow";
import type { Credential } from "./guard";
import type { Preview } from "./queries";
import { Working } from "./working";

/** What would be connected, before it is. A command is run for it only on request. */
export function Offer({ body, given, runs, agreed, onRead }: Props) {
  return runs ? (
    <AfterConsent key={write(body)} body={body} agreed={agreed} onRead={onRead} />
  ) : (
    <AtOnce body={body} given={given} onRead={onRead} />
  );
}

type Read = (preview: Preview) => void;
type Props = { body: object; given?: Given; runs: boolean; agreed: boolean; onRead: Read };
/** A credential to read it with. Wherever something is kept, it is how often one was entered, not what. */
type Given = { credential: Credential; tries: number };

function AtOnce({ body, given, onRead }: { body: object; given?: Given; onRead: Read }) {
  const progress = useProgress();
  const asked = useQuery({
    queryKey: ["preview", body, given?.tries ?? 0],
    queryFn: () => follow<Preview>("/v1/sources/preview", { ...body, credential: given?.credential }, progress.say),
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 60_000,
    gcTime: 60_000,
  });
  const read = asked.data;
  useEffect(() => {
    if (read) onRead(read);
  }, [read, onRead]);
  if (asked.error) return <Unknown error={asked.error} />;
  if (read) return <Shown preview={read} />;
  return (
    <div aria-busy="true" className="space-y-2">
      <Working text={progress.text || "reading its tools"} />
      <Skeleton rows={3} />
    </div>
  );
}

function AfterConsent({ body, agreed, onRead }: { body: object; agreed: boolean; onRead: Read }) {
  const progress = useProgress();
  const asked = useMutation({
    mutationFn: () => follow<Preview>("/v1/sources/preview", { ...body, consent: true }, progress.say),
    onSuccess: onRead,
  });
  if (asked.data) return <Shown preview={asked.data} />;
  return (
    <div className="space-y-2">
      <div className="flex flex-wrap items-center gap-3">
        <Button size="small" disabled={!agreed} busy={asked.isPending} onClick={() => asked.mutate()}>
          Run it once and show its tools
        </Button>
        {asked.isPending && <Working text={progress.text || "starting it"} />}
      </div>
      {asked.error ? <Unknown error={asked.error} /> : null}
    </div>
  );
}

function Unknown({ error }: { error: unknown }) {
  return (
    <div className="space-y-1">
      <p className="text-dim text-sm">The tools could not be read yet:</p>
      <Trouble error={error} />
    </div>
  );
}

function Shown({ preview }: { preview: Preview }) {
  const more = preview.toolCount - preview.tools.length;
  return (
    <section aria-label="Available tools" className="min-w-0">
      <p className="mb-1.5 text-sm">
        <b className="font-medium">
          {preview.toolCount.toLocaleString("en")}
          {preview.offered !== preview.toolCount && ` of ${preview.offered.toLocaleString("en")}`}{" "}
          {preview.offered === 1 ? "tool" : "tools"}
        </b>
        {preview.skipped.length > 0 && (
          <span className="text-dim">
            , {preview.skipped.length === 100 ? "100 or more" : preview.skipped.length} parts can't be used
          </span>
        )}
      </p>
      {preview.note && <p className="mb-2 text-warn text-sm">{visible(preview.note)}</p>}
      {preview.tools.length > 0 && (
        <ul tabIndex={0} aria-label="First tools" className="max-h-64 overflow-y-auto rounded-lg border border-line">
          {preview.tools.map((tool) => (
            <li key={tool.path} className="flex min-w-0 items-baseline gap-2 px-3 py-1 text-xs odd:bg-raised/50">
              <code className="max-w-[60%] shrink-0 truncate font-mono">{visible(tool.path)}</code>
              <span className="min-w-0 flex-1 truncate text-dim">{visible(firstLine(tool.description))}</span>
              {tool.effect !== "read" && <EffectBadge effect={tool.effect} />}
            </li>
          ))}
          {more > 0 && <li className="px-3 py-1 text-dim text-xs">and {more.toLocaleString("en")} more</li>}
        </ul>
      )}
    </section>
  );
}
