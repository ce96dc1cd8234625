import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useRef, useState } from "react";
import { whoami } from "@/api/queries";
import { useHotkeys } from "@/shell/hotkeys";
import { command } from "@/text/code";
import { Command } from "@/ui/copy";
import { Page } from "@/ui/page";
import { Reserved } from "@/ui/reserved";
import { Split } from "@/ui/split";
import { Skeleton } from "@/ui/states";
import type { Verdict } from "./assistance";
import { draftOf, dropDraft, keepDraft } from "./drafts";
import type { Handle } from "./editor";
import { Finder } from "./finder";
import { Findings } from "./findings";
import { History } from "./history";
import type { Language } from "./language";
import { Outcome } from "./outcome";
import { useRun } from "./running";
import { Toolbar } from "./toolbar";

const Editor = lazy(() => import("./editor"));

type Props = { draft: string; first: string; language: Language; origin?: string };

export function Bench({ draft, first, language, origin }: Props) {
  const [start] = useState(() => draftOf(draft) ?? first);
  const [code, setCode] = useState(start);
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const [finding, setFinding] = useState(false);
  const handle = useRef<Handle | null>(null);
  const run = useRun();
  const may = useQuery(whoami).data?.permissions.includes("execute") ?? false;
  const begin = () => may && !run.begin.isPending && run.begin.mutate({ code, language });
  useHotkeys({ "mod+Enter": begin, "mod+i": () => setFinding(true) });
  const changed = (text: string) => {
    setCode(text);
    if (text === first) dropDraft(draft);
    else keepDraft(draft, text);
  };
  const pick = (call: string) => {
    setFinding(false);
    if (code === first && !origin) handle.current?.replace(language === "python" ? `${call}\n` : `return ${call};\n`);
    else handle.current?.insert(language === "python" ? call : `${call};`);
  };
  const goTo = (line: number, column: number) => handle.current?.goTo(line, column);
  return (
    <Page title="Playground" about="Run code like an agent: same sandbox, same policies." wide>
      {!may && <Reserved who="a member">You can view executions here, but not start one.</Reserved>}
      <Split
        label="Width of the editor"
        name="playground"
        first={
          <div className="card flex min-h-[24rem] min-w-0 flex-col overflow-hidden focus-within:border-accent lg:h-[calc(100dvh-17rem)]">
            <Toolbar
              {...{ language, run, code, may, origin }}
              changed={code !== first}
              onRun={begin}
              onFind={() => setFinding(true)}
              onExample={(text) => handle.current?.replace(text)}
              onReset={() => handle.current?.replace(first)}
            />
            <div className="min-h-0 flex-1 overflow-auto">
              <Suspense fallback={<Skeleton rows={6} className="p-4" />}>
                <Editor
                  start={start}
                  language={language}
                  onChange={changed}
                  onRun={begin}
                  onFind={() => setFinding(true)}
                  onVerdict={setVerdict}
                  onReady={(made) => {
                    handle.current = made;
                  }}
                />
              </Suspense>
            </div>
            <Findings verdict={verdict} onOpen={goTo} />
          </div>
        }
        second={<Outcome run={run} onLine={goTo} />}
      />
      <Finder open={finding} language={language} onClose={() => setFinding(false)} onPick={pick} />
      <details className="mt-4 text-sm">
        <summary className="text-dim">The same in a terminal</summary>
        <div className="mt-2">
          <Command text={command("call", ...(language === "python" ? ["--language", "python"] : []), code.trim())} />
        </div>
      </details>
      <History />
    </Page>
  );
}
