// What the palette finds: places, acts, and the things of this workspace.
import { useQuery } from "@tanstack/react-query";
import { Activity, Blocks, Clock, FunctionSquare, ListChecks, type LucideIcon } from "lucide-react";
import { get } from "@/api/client";
import { interactions, searchTools, sources, whoami } from "@/api/queries";
import { gist } from "@/pages/approvals/gist";
import { isOutdated } from "@/ui/states";
import { useActs } from "./acts";
import { usePlaces } from "./places";
import { recent } from "./recent";

export type Entry = {
  id: string;
  group: string;
  title: string;
  about: string;
  to: string;
  icon?: LucideIcon;
  act?: () => void;
  /** The request that is decided where it was found. */
  asked?: string;
};

const FEW = 6;
const LATEST = {
  queryKey: ["executions", "latest"],
  queryFn: ({ signal }: { signal: AbortSignal }) => get("/v1/executions?limit=50", signal),
};

/** Each word of what was typed, anywhere in it. */
function fits(text: string, wanted: string): boolean {
  const within = text.toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => within.includes(word));
}

export function toolAddress(path: string): string {
  return `/sources/${encodeURIComponent(path.split(".")[0] ?? "")}?tool=${encodeURIComponent(path)}`;
}

export function useFound(text: string, onHelp: () => void): { entries: Entry[]; searching: boolean } {
  const acts = useActs(onHelp).filter((one) => fits(`${one.title} ${one.about}`, text));
  const tools = useTools(text);
  const things = useThings(text);
  const actor = useQuery(whoami).data?.actorId ?? "";
  const pages = usePlaces()
    .filter((place) => fits(place.title, text))
    .map((place) => ({
      id: `page ${place.to}`,
      group: "Pages",
      title: place.title,
      about: `g ${place.key}`,
      to: place.to,
      icon: place.icon,
    }));
  if (!text) return { entries: [...lately(actor), ...things.waiting, ...pages, ...acts], searching: false };
  const entries = [
    ...exact(text),
    ...pages,
    ...acts,
    ...things.connected,
    // These wait for the tools above them: what is about to be chosen must not move away.
    ...(tools.coming ? [] : [...tools.entries, ...things.waiting, ...things.ran]),
  ];
  return { entries, searching: tools.searching };
}

function lately(actor: string): Entry[] {
  return recent(actor)
    .slice(0, 5)
    .map((one) => ({ ...one, id: `recent ${one.to}`, group: "Recent", icon: Clock }));
}

/** An id that was copied from elsewhere leads there, known here or not. */
function exact(text: string): Entry[] {
  const kind = /^exec_\w+$/.test(text) ? "executions" : /^int_\w+$/.test(text) ? "approvals" : "";
  if (!kind) return [];
  const icon = kind === "executions" ? Activity : ListChecks;
  return [{ id: `exact ${text}`, group: "By ID", title: text, about: kind, to: `/${kind}/${text}`, icon }];
}

/** An earlier search is given up as soon as more is typed. */
function useTools(text: string): { entries: Entry[]; searching: boolean; coming: boolean } {
  const wanted = text.length > 1;
  const asked = useQuery({
    queryKey: ["tools", "search", "", text],
    queryFn: ({ signal }) => searchTools({ query: text, limit: 12 }, signal),
    enabled: wanted,
    placeholderData: (before) => before,
  });
  const entries = (wanted && !isOutdated(asked) ? (asked.data?.items ?? []) : []).map((one) => ({
    id: `tool ${one.path}`,
    group: "Tools",
    title: one.path,
    about: one.description,
    to: toolAddress(one.path),
    icon: FunctionSquare,
  }));
  return { entries, searching: wanted && asked.isFetching, coming: wanted && asked.isLoading };
}

function useThings(text: string) {
  const connected = useQuery(sources).data?.items ?? [];
  const waiting = useQuery(interactions("pending")).data?.items ?? [];
  const ran = useQuery(LATEST).data?.items ?? [];
  return {
    connected: connected
      .filter((one) => fits(`${one.name} ${one.namespace}`, text))
      .slice(0, FEW)
      .map((one) => ({
        id: one.id,
        group: "Sources",
        title: one.name,
        about: one.namespace,
        to: `/sources/${encodeURIComponent(one.namespace)}`,
        icon: Blocks,
      })),
    waiting: waiting
      .filter((one) => fits(`${one.tool} ${one.id} approval`, text))
      .slice(0, FEW)
      .map((one) => ({
        id: one.id,
        group: "Pending approvals",
        title: one.tool,
        about: gist(one) || one.id,
        to: `/approvals/${encodeURIComponent(one.id)}`,
        icon: ListChecks,
        asked: one.id,
      })),
    ran: ran
      .filter((one) => one.executionId !== text && fits(`${one.executionId} ${one.preview} ${one.status}`, text))
      .slice(0, FEW)
      .map((one) => ({
        id: one.executionId,
        group: "Executions",
        title: one.preview || one.executionId,
        about: one.status,
        to: `/executions/${encodeURIComponent(one.executionId)}`,
        icon: Activity,
      })),
  };
}
