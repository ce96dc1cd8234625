import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type Address, remove } from "@/api/client";
import { ConfirmButton } from "@/ui/confirm";
import { tellProblem } from "@/ui/toast";

type Props = { children: ReactNode; path?: Address<"delete">; word: string; sure?: string; renew: string };

/** One thing that is there, and the way to end it; without a `path` it has none. */
export function Row({ children, path, word, sure, renew }: Props) {
  const client = useQueryClient();
  const end = useMutation({
    mutationFn: async () => path && remove(path),
    onSuccess: () => client.invalidateQueries({ queryKey: [renew] }),
    onError: tellProblem,
  });
  return (
    <li className="flex min-h-12 flex-wrap items-center gap-x-3 gap-y-1 py-2 text-sm">
      {children}
      {path && (
        <ConfirmButton
          size="small"
          className="ml-auto"
          busy={end.isPending}
          sure={sure ?? `Really ${word.toLowerCase()}?`}
          onConfirm={() => end.mutate()}
        >
          {word}
        </ConfirmButton>
      )}
    </li>
  );
}
