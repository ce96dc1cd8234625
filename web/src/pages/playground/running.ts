import { useNavigate, useSearch } from "@tanstack/react-router";
import { useRun as useAnyRun } from "../executions/run";

export { isFinal, type Run } from "../executions/run";

export function useRun() {
  const { run } = useSearch({ from: "/shell/playground" });
  const navigate = useNavigate({ from: "/playground" });
  return useAnyRun(run, (id) => navigate({ search: (before) => ({ ...before, run: id }), replace: true }));
}
