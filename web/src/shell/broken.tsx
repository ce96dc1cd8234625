import { useRouter } from "@tanstack/react-router";
import { Problem } from "@/api/client";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { Page } from "@/ui/page";
import { Trouble } from "@/ui/states";

/** A page that failed to draw itself; the way to every other one stays. */
export function Broken({ error, reset }: { error: unknown; reset: () => void }) {
  const router = useRouter();
  const again = () => {
    reset();
    void router.invalidate();
  };
  if (error instanceof Problem) {
    return (
      <Page title="This could not be shown">
        <Trouble error={error} onRetry={again} />
      </Page>
    );
  }
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return (
    <Page title="This page broke" about="The rest still works. Nothing that runs was stopped by it.">
      <div role="alert" className="card max-w-2xl p-4 text-sm">
        <div className="flex items-start gap-2">
          <code className="min-w-0 flex-1 break-words font-mono text-xs leading-5">{visible(text)}</code>
          <CopyButton
            text={error instanceof Error ? (error.stack ?? text) : text}
            label="Copy what happened, for a report"
          />
        </div>
        <div className="mt-3 flex gap-2">
          <Button onClick={again}>Try again</Button>
          <Button look="ghost" onClick={() => window.location.reload()}>
            Load the page anew
          </Button>
        </div>
      </div>
    </Page>
  );
}
