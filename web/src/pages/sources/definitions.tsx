import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useMemo, useState } from "react";
import { headers, Problem, query, readProblem } from "@/api/client";
import { command } from "@/text/code";
import { size } from "@/text/size";
import { Button } from "@/ui/button";
import { Command } from "@/ui/copy";
import { saveFile } from "@/ui/download";
import { Lines } from "@/ui/lines";
import { Segments } from "@/ui/segments";
import { Skeleton, Trouble } from "@/ui/states";
import { path } from "./queries";

type Language = "typescript" | "python";
const ENDINGS: Record<Language, string> = { typescript: "d.ts", python: "pyi" };
const OPTIONS = [
  { id: "typescript", title: "TypeScript" },
  { id: "python", title: "Python" },
] as const;

/** The types of a source's tools, or of all, as a file for an editor. `known` changes when the tools may have. */
export function Definitions({ source, known }: { source?: { id: string; namespace: string }; known: string }) {
  const [language, setLanguage] = useState<Language>("typescript");
  const asked = useQuery({
    queryKey: ["tools", "definitions", source?.id ?? "", language, known],
    queryFn: ({ signal }) => definitions(source?.id, language, signal),
    retry: false,
  });
  const lines = useMemo(() => asked.data?.split("\n") ?? [], [asked.data]);
  const words = [...(source ? [source.namespace] : []), ...(language === "python" ? ["--language", "python"] : [])];
  return (
    <section aria-label="Definitions" className="card min-w-0 p-4">
      <div className="mb-3 flex flex-wrap items-center gap-x-3 gap-y-2 text-dim text-sm">
        <Segments label="Language" options={[...OPTIONS]} value={language} onChange={setLanguage} />
        <span>{asked.data ? size(asked.data.length) : ""}</span>
        <span className="ml-auto">
          <Button
            size="small"
            disabled={!asked.data}
            onClick={() => saveFile(`${source?.namespace ?? "tools"}.${ENDINGS[language]}`, asked.data ?? "")}
          >
            <Download size={13} aria-hidden="true" /> Download
          </Button>
        </span>
      </div>
      {asked.error ? (
        <Trouble error={asked.error} onRetry={asked.refetch} />
      ) : asked.data === undefined ? (
        <Skeleton rows={12} />
      ) : (
        <Lines lines={lines} label="Text of the definitions" />
      )}
      <div className="mt-3">
        <Command text={command("sources", "definitions", ...words)} />
      </div>
    </section>
  );
}

async function definitions(id: string | undefined, language: Language, signal: AbortSignal): Promise<string> {
  const address = id ? path(id, "/definitions") : "/v1/catalog/definitions";
  const answer = await fetch(`${address}${query({ language })}`, {
    headers: headers({ Accept: "*/*" }),
    credentials: "same-origin",
    signal,
  });
  if (!answer.ok) throw new Problem(answer.status, await readProblem(answer));
  return answer.text();
}
