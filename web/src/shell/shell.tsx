import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useRouter } from "@tanstack/react-router";
import { CircleHelp, Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Problem } from "@/api/client";
import { waiting, whoami } from "@/api/queries";
import { Live, useConnection } from "@/live/live";
import { Button, IconButton } from "@/ui/button";
import { Skeleton, Trouble } from "@/ui/states";
import { Toasts } from "@/ui/toast";
import { Help } from "./help";
import { useHotkeys } from "./hotkeys";
import { Mark } from "./mark";
import { BottomNav, SideNav } from "./nav";
import { Palette } from "./palette";
import { setPending } from "./title";
import { WhoMenu } from "./who";

export function Shell() {
  const who = useQuery(whoami);
  if (who.error instanceof Problem && who.error.status === 401) {
    return <ToSignIn />;
  }
  if (who.error)
    return (
      <main className="mx-auto max-w-lg p-8">
        <Trouble error={who.error} onRetry={who.refetch} />
      </main>
    );
  if (!who.data)
    return (
      <main className="p-8">
        <Skeleton rows={4} className="mx-auto max-w-3xl" />
      </main>
    );
  return (
    <Live>
      <Frame />
    </Live>
  );
}

/** Once, and from where one was when it began: the address changes while this is still shown. */
function ToSignIn() {
  const navigate = useNavigate();
  const router = useRouter();
  const to = useRef(router.state.location.href).current;
  useEffect(() => {
    void navigate({ to: "/sign-in", search: { to }, replace: true });
  }, [navigate, to]);
  return null;
}

function Frame() {
  const pending = useQuery(waiting).data?.total ?? 0;
  const [open, setOpen] = useState<"" | "palette" | "help">("");
  const navigate = useNavigate();
  useEffect(() => setPending(pending), [pending]);
  useHotkeys({
    "mod+k": () => setOpen("palette"),
    "?": () => setOpen("help"),
    "/": () => (document.querySelector<HTMLInputElement>("[data-search]") ? focusSearch() : setOpen("palette")),
    g: () => void navigate({ to: "/approvals" }),
  });
  const close = () => setOpen("");
  return (
    <div className="flex min-h-dvh">
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:p-2">
        Skip to the content
      </a>
      <aside className="sticky top-0 hidden h-dvh w-56 shrink-0 flex-col border-line border-r bg-surface md:flex">
        <Link to="/" className="flex items-center gap-2.5 px-4 py-4 font-semibold tracking-tight">
          <Mark /> Executor
        </Link>
        <div className="px-3 pb-3">
          <Button className="w-full justify-start text-dim" onClick={() => setOpen("palette")}>
            <Search size={14} aria-hidden="true" /> Search
            <kbd className="ml-auto rounded border border-line px-1 font-mono text-[0.7rem]">Ctrl K</kbd>
          </Button>
        </div>
        <SideNav pending={pending} />
        <div className="mt-auto space-y-1 border-line border-t p-3">
          <ConnectionState />
          <div className="flex items-center gap-1">
            <WhoMenu />
            <IconButton label="Keyboard shortcuts" className="ml-auto" onClick={() => setOpen("help")}>
              <CircleHelp size={15} aria-hidden="true" />
            </IconButton>
          </div>
        </div>
      </aside>
      <div className="min-w-0 flex-1 pb-16 md:pb-0">
        <header className="sticky top-0 z-10 flex h-12 items-center gap-2 border-line border-b bg-surface px-4 md:hidden">
          <Link to="/" className="flex items-center gap-2 font-semibold">
            <Mark /> Executor
          </Link>
          <div className="ml-auto flex items-center gap-1">
            <ConnectionState short />
            <IconButton label="Search" onClick={() => setOpen("palette")}>
              <Search size={16} aria-hidden="true" />
            </IconButton>
            <WhoMenu short />
          </div>
        </header>
        <main id="content" tabIndex={-1} className="outline-none">
          <Outlet />
        </main>
      </div>
      <BottomNav pending={pending} />
      <Palette open={open === "palette"} onClose={close} />
      <Help open={open === "help"} onClose={close} />
      <Toasts />
    </div>
  );
}

function focusSearch() {
  document.querySelector<HTMLInputElement>("[data-search]")?.focus();
}

function ConnectionState({ short }: { short?: boolean }) {
  const connection = useConnection();
  const live = connection === "live";
  const text = live
    ? "Live"
    : connection === "reconnecting"
      ? "Reconnecting…"
      : connection === "refused"
        ? "Signed out"
        : "Connecting…";
  return (
    <div
      role="status"
      className={`flex items-center gap-2 px-1 text-xs ${live ? "text-dim" : "font-medium text-warn"}`}
    >
      <span aria-hidden="true" className={`size-2 rounded-full ${live ? "bg-ok" : "animate-pulse bg-warn"}`} />
      <span className={short && live ? "sr-only" : ""}>{text}</span>
    </div>
  );
}
