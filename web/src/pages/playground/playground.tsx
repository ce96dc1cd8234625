import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { execution, whoami } from "@/api/queries";
import { Page } from "@/ui/page";
import { Loaded, Skeleton } from "@/ui/states";
import { Bench } from "./bench";
import { draftName } from "./drafts";
import { describe, FIRST } from "./examples";
import { type Language, languageOf } from "./language";

/** Where the code comes from: an earlier run, a tool, or what was typed here before. */
export function PlaygroundPage() {
  const { from, tool, language } = useSearch({ from: "/shell/playground" });
  const actor = useQuery(whoami).data?.actorId;
  if (!actor) return <Waiting />;
  if (from) return <FromRun key={from} id={from} actor={actor} wanted={language} />;
  const spoken = languageOf(language);
  if (tool) return <FromTool key={`${tool} ${spoken}`} path={tool} actor={actor} language={spoken} />;
  return <Bench key={spoken} draft={draftName(actor, spoken)} first={FIRST[spoken]} language={spoken} />;
}

function FromRun({ id, actor, wanted }: { id: string; actor: string; wanted: string | undefined }) {
  const asked = useQuery({ ...execution(id), staleTime: 60_000 });
  if (asked.data?.code == null) return <Waiting asked={asked} />;
  const language = languageOf(wanted ?? asked.data.language);
  const same = language === asked.data.language;
  return (
    <Bench
      key={language}
      draft={draftName(actor, same ? id : language)}
      first={same ? asked.data.code : FIRST[language]}
      language={language}
      origin={same ? id : undefined}
    />
  );
}

function FromTool({ path, actor, language }: { path: string; actor: string; language: Language }) {
  const asked = useQuery({
    queryKey: ["tools", "example", path, language],
    queryFn: ({ signal }) => describe(path, language, signal),
    staleTime: 60_000,
  });
  if (!asked.data) return <Waiting asked={asked} />;
  const call = asked.data.example ?? `await tools.${path}()`;
  const first = language === "python" ? `${call}\n` : `return ${call};\n`;
  return <Bench draft={draftName(actor, `${language} ${path}`)} first={first} language={language} />;
}

function Waiting({ asked }: { asked?: { data: unknown; error: unknown; refetch: () => unknown } }) {
  return (
    <Page title="Playground" about="Run code like an agent." wide>
      {asked?.error ? <Loaded asked={{ ...asked, data: undefined }}>{() => null}</Loaded> : <Skeleton rows={8} />}
    </Page>
  );
}
