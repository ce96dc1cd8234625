import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy";

/** An error as it is, to copy and to send to someone. */
export function Report({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return (
    <div role="alert" className="card max-w-2xl p-4 text-sm">
      <div className="flex items-start gap-2">
        <code className="min-w-0 flex-1 break-words font-mono text-xs leading-5">{visible(text)}</code>
        <CopyButton
          text={error instanceof Error ? (error.stack ?? text) : text}
          label="Copy the details for a report"
        />
      </div>
      <div className="mt-3 flex gap-2">
        {onRetry && <Button onClick={onRetry}>Try again</Button>}
        <Button look="ghost" onClick={() => window.location.reload()}>
          Reload the page
        </Button>
      </div>
    </div>
  );
}
