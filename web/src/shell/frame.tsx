import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { CircleHelp, Search } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { useVisitor, waiting } from "@/api/queries";
import { Button, IconButton } from "@/ui/button";
import { Kbd } from "@/ui/kbd";
import { Skeleton } from "@/ui/states";
import { Toasts } from "@/ui/toast";
import { ConnectionState } from "./connection";
import { Help } from "./help";
import { type Keys, useHotkeys } from "./hotkeys";
import { strokes } from "./keymap";
import { BottomNav, SideNav } from "./nav";
import { Palette } from "./palette";
import { usePlaces } from "./places";
import { useRemember } from "./recent";
import { Switcher } from "./switcher";
import { setPending } from "./title";
import { WhoMenu } from "./who";

const VisitorBar = lazy(() => import("./visitor").then((module) => ({ default: module.VisitorBar })));

type Opened = "" | "palette" | "help";

/** What stays while pages come and go. */
export function Frame({ children }: { children: ReactNode }) {
  const pending = useQuery(waiting).data?.total ?? 0;
  const visitor = useVisitor();
  const [open, setOpen] = useState<Opened>("");
  useEffect(() => setPending(pending), [pending]);
  useFrameKeys(setOpen);
  useRemember();
  const close = () => setOpen("");
  return (
    <div className="flex min-h-dvh">
      <a
        href="#content"
        className="card sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:px-3 focus:py-2"
      >
        Skip to the content
      </a>
      <Side pending={pending} onOpen={setOpen} />
      <div className="min-w-0 flex-1 pb-16 md:pb-0">
        <Top onOpen={setOpen} />
        {visitor && (
          <Suspense fallback={<div className="h-11 border-line border-b bg-warn-soft" />}>
            <VisitorBar />
          </Suspense>
        )}
        <main id="content" tabIndex={-1} className="outline-none">
          {children}
        </main>
      </div>
      <BottomNav pending={pending} />
      <Palette open={open === "palette"} onClose={close} onHelp={() => setOpen("help")} />
      <Help open={open === "help"} onClose={close} />
      <Toasts />
    </div>
  );
}

function useFrameKeys(onOpen: (what: Opened) => void): void {
  const navigate = useNavigate();
  const going: Keys = {};
  const places = usePlaces();
  for (const place of places) going[`g ${place.key}`] = () => void navigate({ to: place.to });
  useHotkeys({
    ...going,
    "mod+k": () => onOpen("palette"),
    "?": () => onOpen("help"),
    "/": () => {
      const search = document.querySelector<HTMLInputElement>("[data-search]");
      if (search) search.focus();
      else onOpen("palette");
    },
  });
}

function Side({ pending, onOpen }: { pending: number; onOpen: (what: Opened) => void }) {
  return (
    <aside className="sticky top-0 hidden h-dvh w-58 shrink-0 flex-col border-line border-r bg-surface md:flex">
      <div className="px-2 pt-2.5 pb-2">
        <Switcher />
      </div>
      <div className="px-3 pb-3">
        <Button className="w-full justify-start text-dim" onClick={() => onOpen("palette")}>
          <Search size={14} aria-hidden="true" /> Search
          <span aria-hidden="true" className="ml-auto">
            <Kbd keys={strokes("mod+k")} />
          </span>
        </Button>
      </div>
      <SideNav pending={pending} />
      <div className="mt-auto space-y-1 border-line border-t p-2">
        <ConnectionState />
        <div className="flex items-center gap-1">
          <WhoMenu />
          <IconButton label="Keyboard shortcuts" className="ml-auto" onClick={() => onOpen("help")}>
            <CircleHelp size={15} aria-hidden="true" />
          </IconButton>
        </div>
      </div>
    </aside>
  );
}

function Top({ onOpen }: { onOpen: (what: Opened) => void }) {
  return (
    <header className="sticky top-0 z-10 flex h-12 items-center gap-2 border-line border-b bg-surface px-2 md:hidden">
      <div className="min-w-0 max-w-52">
        <Switcher short />
      </div>
      <div className="ml-auto flex items-center gap-1">
        <ConnectionState short />
        <IconButton label="Search" onClick={() => onOpen("palette")}>
          <Search size={16} aria-hidden="true" />
        </IconButton>
        <WhoMenu short />
      </div>
    </header>
  );
}

/** Before it is known who asks: the same places, still empty. */
export function Outline() {
  return (
    <div className="flex min-h-dvh">
      <div className="hidden w-58 shrink-0 border-line border-r bg-surface p-3 md:block">
        <div className="skeleton h-9" />
      </div>
      <main className="min-w-0 flex-1">
        <div className="h-12 border-line border-b bg-surface md:hidden" />
        <Skeleton rows={4} className="mx-auto max-w-[96rem] px-4 py-7 sm:px-6" />
      </main>
    </div>
  );
}
