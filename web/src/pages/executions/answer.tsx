import { useQuery } from "@tanstack/react-query";
import type { Call, Interaction } from "@/api/types";
import { visible } from "@/text/visible";
import { Skeleton, Trouble } from "@/ui/states";
import { Tree } from "@/ui/tree";
import { Kept } from "./artifacts";
import { whole } from "./queries";

/** What a call returned: its result or its error, once there is one. */
export function CallAnswer({ call }: { call: Call }) {
  if (call.error) return <Wrong error={call.error} />;
  if (call.state !== "succeeded") return <p className="text-dim text-sm">No result yet.</p>;
  return (
    <>
      <Kept kept={call.artifact} />
      <Tree value={call.result ?? null} label="result" bounded={Boolean(call.artifact)} />
    </>
  );
}

const SAID: Record<Call["state"], string> = {
  proposed: "The call has not been sent yet.",
  started: "The call is running…",
  succeeded: "It returned:",
  failed: "It failed:",
  abandoned: "The call was not sent: the execution ended first.",
};

/** What came of a call that was allowed, as soon as it is known. */
export default function AllowedCall({ asked }: { asked: Interaction }) {
  const found = useQuery(whole(asked.executionId ?? "", asked.callSeq));
  const call = found.data;
  if (!call) return found.error ? <Trouble error={found.error} /> : <Skeleton rows={1} />;
  const ended = call.state === "succeeded" || call.state === "failed";
  return (
    <section aria-label="What the call returned" aria-live="polite" className="min-w-0 space-y-1.5 text-sm">
      <p className={ended ? "font-medium" : "text-dim"}>{SAID[call.state]}</p>
      {ended && <CallAnswer call={call} />}
    </section>
  );
}

function Wrong({ error }: { error: Record<string, unknown> }) {
  const { code, message, hint, ...rest } = error;
  const details = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== ""));
  return (
    <div className="space-y-2 text-sm">
      <p className="whitespace-pre-wrap break-words font-medium text-bad">{visible(String(message), "\n")}</p>
      {hint ? <p className="whitespace-pre-wrap break-words">{visible(String(hint), "\n")}</p> : null}
      <code className="block font-mono text-xs">{visible(String(code))}</code>
      {Object.keys(details).length > 0 && <Tree value={details} label="details of the error" />}
    </div>
  );
}
