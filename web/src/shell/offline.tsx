import { useEffect } from "react";
import { command } from "@/text/code";
import { Command } from "@/ui/copy";
import { Page } from "@/ui/page";

const LOOK_AGAIN = 1000;

export async function isReachable(): Promise<boolean> {
  try {
    return (await fetch("/healthz", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

/** The daemon does not answer: how to start it. The page opens once it does. */
export function Offline() {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const look = async () => {
      if (await isReachable()) window.location.reload();
      else timer = setTimeout(look, LOOK_AGAIN);
    };
    timer = setTimeout(look, LOOK_AGAIN);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Page
      title="Executor is not answering"
      about="Start it, and this page reloads automatically. Your executions are not lost."
    >
      <div className="max-w-2xl">
        <Command text={command("up")} />
      </div>
    </Page>
  );
}
