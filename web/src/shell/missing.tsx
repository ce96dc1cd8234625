import { lazyRouteComponent } from "@tanstack/react-router";
import { type ComponentType, useEffect, useState } from "react";
import { Page } from "@/ui/page";
import { Skeleton } from "@/ui/states";
import { isReachable, Offline } from "./offline";
import { Report } from "./report";

// As Chromium, Firefox and Safari put it.
const MESSAGES =
  /^(Failed to fetch dynamically imported module|error loading dynamically imported module|Importing a module script failed|Unable to preload CSS)/;

/** Whether a part of the UI could not be fetched. */
export function isMissing(error: unknown): error is Error {
  return error instanceof Error && MESSAGES.test(error.message);
}

/** A page that is fetched when it is first opened. Where that fails the router alone would load the address again, and
 * show the browser's error page if no one answers. */
export function page(fetchPage: () => Promise<ComponentType>) {
  const load = async (): Promise<{ Shown: ComponentType }> => {
    try {
      const Shown = await fetchPage();
      forgetReload();
      return { Shown };
    } catch (error) {
      return { Shown: () => <Missing error={error instanceof Error ? error : new Error(String(error))} /> };
    }
  };
  return lazyRouteComponent(load, "Shown");
}

/** The daemon is gone: wait for it. It is there, so it has other files: get those, but not over and over. */
export function Missing({ error }: { error: Error }) {
  const [state, setState] = useState<"looking" | "offline" | "missing">("looking");
  const { message } = error;
  useEffect(() => {
    let left = false;
    void isReachable().then((reachable) => {
      if (left) return;
      if (!reachable) setState("offline");
      else if (!reloadOnce(message)) setState("missing");
    });
    return () => {
      left = true;
    };
  }, [message]);
  if (state === "looking") return <Skeleton rows={6} className="mx-auto max-w-5xl px-4 py-7 sm:px-6" />;
  if (state === "offline") return <Offline />;
  return (
    <Page title="This page could not be loaded" about="Part of the web UI is missing, even after a reload.">
      <Report error={error} />
    </Page>
  );
}

const RELOADED = "executor.reloaded";

/** Loads the page again, once for each part that is missing; false if that was done already, or can't be known. */
function reloadOnce(missing: string): boolean {
  try {
    if (sessionStorage.getItem(RELOADED) === missing) return false;
    sessionStorage.setItem(RELOADED, missing);
  } catch {
    return false;
  }
  window.location.reload();
  return true;
}

function forgetReload(): void {
  try {
    sessionStorage.removeItem(RELOADED);
  } catch {
    // nothing was kept
  }
}
