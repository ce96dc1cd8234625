import { useNavigate, useSearch } from "@tanstack/react-router";
import { Definitions } from "@/pages/sources/definitions";
import { Page } from "@/ui/page";
import { Tabs } from "@/ui/tabs";
import type { Filters } from "./filters";
import { Manifest } from "./manifest";

/** The tools of all sources. */
export function ToolsPage() {
  const { view, ...filters } = useSearch({ from: "/shell/tools" });
  const navigate = useNavigate({ from: "/tools" });
  const change = (made: Filters) => void navigate({ search: (before) => ({ ...before, ...made }), replace: true });
  const turn = (id: string) =>
    void navigate({ search: (before) => ({ ...before, view: id === "tools" ? undefined : id }) });
  const tabs = [
    { id: "tools", title: "Tools", content: <Manifest filters={filters} onChange={change} /> },
    { id: "definitions", title: "Definitions", content: <Definitions known="" /> },
  ];
  return (
    <Page title="Tools" about="Everything that code can call here, and what happens when it does" wide>
      <Tabs label="Views of the tools" tabs={tabs} value={view ?? "tools"} onChange={turn} />
    </Page>
  );
}
