import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { remove } from "@/api/client";
import { Button } from "@/ui/button";
import { tellProblem } from "@/ui/toast";

/** One thing that is there, and the way to end it. */
export function Row({
  children,
  path,
  word,
  renew,
}: {
  children: ReactNode;
  path?: string;
  word: string;
  renew: string;
}) {
  const client = useQueryClient();
  const end = useMutation({
    mutationFn: () => remove(path ?? ""),
    onSuccess: () => client.invalidateQueries({ queryKey: [renew] }),
    onError: tellProblem,
  });
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 py-2 text-sm">
      {children}
      {path && (
        <Button size="small" look="danger" className="ml-auto" busy={end.isPending} onClick={() => end.mutate()}>
          {word}
        </Button>
      )}
    </li>
  );
}
