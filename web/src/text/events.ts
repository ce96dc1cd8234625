// What happened, as a person would say it. An unknown kind of event is still shown, by its type and plain facts.
import { isNested } from "@/api/json";
import { size } from "./size";
import { duration } from "./time";

type Data = Record<string, unknown>;
type Tell = (data: Data) => string;

const text = (value: unknown): string =>
  isNested(value) || value === undefined || value === null ? "" : String(value);
const call = (data: Data) => `Call ${text(data.seq)}, ${text(data.path) || text(data.tool)}`;
const because = (reason: unknown) => (text(reason) ? `: ${text(reason)}` : "");
const SCOPES: Record<string, string> = { once: "once", execution: "for this execution", always: "always" };
const KINDS: Record<string, string> = {
  approval: "to approve it",
  credential: "for a credential",
  oauth: "to log in",
  unknown_outcome: "for its actual outcome",
  elicitation: "for input that its server needs",
};

function failure(data: Data): string {
  const { code, message } = (data.failure ?? data) as Data;
  return [text(code), text(message)].filter(Boolean).join(": ");
}

function took(data: Data): string {
  const much = typeof data.bytes === "number" ? `, ${size(data.bytes)}` : "";
  return typeof data.durationMs === "number" ? ` after ${duration(data.durationMs)}${much}` : much;
}

const TELLINGS: Record<string, Tell> = {
  "execution.created": ({ language, runtime }) =>
    `Submitted, ${text(language)}${runtime === language ? "" : ` on ${text(runtime)}`}`,
  "execution.paused": ({ interactions }) => {
    const count = Array.isArray(interactions) ? interactions.length : 1;
    return `Paused: ${count === 1 ? "a decision is" : `${count} decisions are`} needed`;
  },
  "execution.resumed": () => "Resumed after a decision",
  "execution.recovered": () => "Resumed after a restart of the daemon",
  "execution.traced": ({ traceId }) => `Traced as ${text(traceId)}`,
  "execution.log": ({ level, text: line }) => `Logged${level === "log" ? "" : ` ${text(level)}`}: ${text(line)}`,
  "execution.checked": ({ diagnostics }) =>
    `The type check has ${Array.isArray(diagnostics) ? diagnostics.length : "some"} warnings`,
  "execution.completed": () => "Completed",
  "execution.failed": (data) => `Failed with ${failure(data)}`,
  "execution.cancelled": () => "Cancelled",
  "call.proposed": (data) => `${call(data)} requested`,
  "call.started": (data) => `${call(data)} sent`,
  "call.waiting": (data) =>
    `${call(data)}: the service answered ${text(data.status)}, so it is retried in ${text(data.seconds)} s`,
  "call.succeeded": (data) => `${call(data)} succeeded${took(data)}`,
  "call.warned": (data) => `Warning: ${text(data.text)}`,
  "call.logged": ({ level, text: line }) =>
    `The server logged${level === "info" ? "" : ` ${text(level)}`}: ${text(line)}`,
  "call.failed": (data) => `${call(data)} failed with ${failure(data)}`,
  "interaction.requested": (data) => `${call(data)}: a human is asked ${KINDS[text(data.kind)] ?? ""}`,
  "interaction.approved": (data) =>
    data.kind === "elicitation"
      ? `${call(data)}: the server got its answer`
      : `${call(data)} was allowed ${SCOPES[text(data.scope)] ?? ""}`.trim(),
  "interaction.denied": (data) =>
    `${call(data)}${data.kind === "elicitation" ? ": the request for input was declined" : " was denied"}${because(data.reason)}`,
  "interaction.expired": (data) => `${call(data)}: no one decided in time`,
  "interaction.cancelled": (data) =>
    data.kind === "elicitation"
      ? `${call(data)}: no answer was given${because(data.reason)}`
      : "A request was withdrawn, because the execution ended",
  "interaction.superseded": (data) => `${call(data)}: something changed, so a new request replaces it`,
  "request.refused": (data) =>
    `${text(data.method)} ${text(data.path)} was refused: ${text(data.code)} (${text(data.status)})`,
  "source.failing": ({ namespace, error }) => `The source ${text(namespace)} can't be read${because(error)}`,
  "webhook.disabled": ({ name, reason }) => `The webhook ${text(name)} was disabled${because(reason)}`,
  "session.offered": () => "Sign-in link created",
  "session.opened": () => "Browser signed in",
  "audit.exported": () => "The audit log was exported",
  "daemon.started": ({ version }) => `The daemon started${text(version) && `, version ${text(version)}`}`,
  "daemon.stopped": () => "The daemon stopped",
};

/** Facts that name what an event is about, in the order in which they are looked for. */
const NAMES = ["pattern", "namespace", "name", "email", "issuer", "id"];

export function sentence(type: string, data: Data): string {
  const known = TELLINGS[type];
  if (known) return known(data);
  const [noun = "", verb = ""] = type.split(".");
  const name = NAMES.map((one) => text(data[one])).find(Boolean);
  const said = `${noun.replaceAll("_", " ")} ${verb.replaceAll("_", " ")}${name ? `: ${name}` : ""}`;
  const action = type.startsWith("policy.") && text(data.action) ? ` → ${text(data.action)}` : "";
  return said.charAt(0).toUpperCase() + said.slice(1) + action;
}
