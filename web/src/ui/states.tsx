import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Problem } from "@/api/client";
import { visible } from "@/text/visible";
import { Button } from "./button";

/** Takes the room that the content will take, so that nothing jumps. */
export function Skeleton({ rows = 3, className = "" }: { rows?: number; className?: string }) {
  return (
    <div role="status" className={`space-y-2.5 ${className}`}>
      <span className="sr-only">Loading</span>
      {Array.from({ length: rows }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <div key={index} className="skeleton h-9" />
      ))}
    </div>
  );
}

type EmptyProps = { title: string; children?: ReactNode; icon?: LucideIcon; action?: ReactNode };

/** Nothing there: why, and the one thing to do next. */
export function Empty({ title, children, icon: Icon, action }: EmptyProps) {
  return (
    <div className="rounded-xl border border-line border-dashed px-6 py-10 text-center">
      {Icon && <Icon size={22} aria-hidden="true" className="mx-auto mb-3 text-dim" />}
      <p className="font-medium">{title}</p>
      {children && <div className="mx-auto mt-2 max-w-md text-dim text-sm">{children}</div>}
      {action && <div className="mt-4 flex justify-center">{action}</div>}
    </div>
  );
}

type TroubleProps = { error: unknown; onRetry?: () => void; children?: ReactNode };

/** What went wrong, what to try, and its code; `children` say more about it. */
export function Trouble({ error, onRetry, children }: TroubleProps) {
  const problem = error instanceof Problem ? error : null;
  return (
    <div role="alert" className="rounded-xl border border-bad/40 bg-bad-soft px-4 py-3 text-sm">
      <p className="break-words font-medium text-bad">{visible(problem?.message ?? String(error))}</p>
      {problem?.hint && <p className="mt-1 break-words">{visible(problem.hint)}</p>}
      {children}
      <div className="mt-2 flex items-center gap-3">
        {problem && <code className="font-mono text-xs">{problem.code}</code>}
        {onRetry && (
          <Button size="small" onClick={onRetry}>
            Try again
          </Button>
        )}
      </div>
    </div>
  );
}

type Asked<T> = {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
  isPlaceholderData?: boolean;
  failureReason?: unknown;
};

/** Whether what is there answers an earlier request, and this one could not be asked. */
export function isOutdated(asked: { isPlaceholderData?: boolean; failureReason?: unknown }): boolean {
  return Boolean(asked.isPlaceholderData && asked.failureReason);
}

/** What was asked for, once it is there; until then its outline, or what went wrong. */
export function Loaded<T>({
  asked,
  rows,
  children,
}: {
  asked: Asked<T>;
  rows?: number;
  children: (data: T) => ReactNode;
}) {
  const wrong = isOutdated(asked) ? asked.failureReason : asked.error;
  if (asked.data !== undefined && !isOutdated(asked)) return <>{children(asked.data)}</>;
  if (wrong) return <Trouble error={wrong} onRetry={() => asked.refetch()} />;
  return <Skeleton rows={rows} />;
}
