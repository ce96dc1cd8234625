import { useRouter } from "@tanstack/react-router";
import { Problem } from "@/api/client";
import { Page } from "@/ui/page";
import { Trouble } from "@/ui/states";
import { isMissing, Missing } from "./missing";
import { Report } from "./report";

/** A page that failed to draw itself; the way to every other one stays. */
export function Broken({ error, reset }: { error: unknown; reset: () => void }) {
  const router = useRouter();
  const again = () => {
    reset();
    void router.invalidate();
  };
  if (isMissing(error)) return <Missing error={error} />;
  if (error instanceof Problem) {
    return (
      <Page title="This could not be shown">
        <Trouble error={error} onRetry={again} />
      </Page>
    );
  }
  return (
    <Page title="This page crashed" about="The rest still works. Running executions are not affected.">
      <Report error={error} onRetry={again} />
    </Page>
  );
}
