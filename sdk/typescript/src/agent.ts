// `execute` in the form that agent frameworks take: described, with a JSON Schema, and answering with text.
import type { Execution } from "./execution.js";
import { write } from "./json.js";

const DESCRIPTION = `Run TypeScript in a sandbox. The only way out is \`tools\`.

Find tools with \`await tools.discover({query: "app verb object"})\`, read one with
\`await tools.describe.tool({path})\`, call it as \`await tools.<path>({...})\`, and \`return\` what you need.`;
const PREVIEW = 2000;

export interface ExecuteFunction {
  name: "execute";
  description: string;
  /** A JSON Schema. */
  parameters: {
    type: "object";
    properties: { code: { type: "string"; description: string } };
    required: ["code"];
    additionalProperties: false;
  };
  /** What a model reads; also about errors and pending decisions. */
  execute: (input: { code: string }) => Promise<string>;
}

export function executeFunction(run: (code: string) => Promise<Execution>): ExecuteFunction {
  return {
    name: "execute",
    description: DESCRIPTION,
    parameters: {
      type: "object",
      properties: { code: { type: "string", description: "TypeScript; `return` what you need" } },
      required: ["code"],
      additionalProperties: false,
    },
    execute: async ({ code }) => render(await run(code)),
  };
}

/** The result, or the beginning of a large one; the error with its hint; who has to decide. */
export function render(execution: Execution): string {
  if (execution.status === "completed" && !execution.artifact) return write(execution.result ?? null);
  const shown: Record<string, unknown> = { status: execution.status, executionId: execution.id };
  if (execution.artifact) {
    shown.artifact = execution.artifact.id;
    shown.size = execution.artifact.size;
    shown.preview = write(execution.result ?? null).slice(0, PREVIEW);
    shown.hint = "this result is large: return less of it, such as some fields or a sum";
  }
  if (execution.error) shown.error = execution.error;
  if (execution.interactions.length) {
    shown.waitsFor = execution.interactions.map(({ tool, reason, url }) => ({ tool, reason, url }));
    shown.hint = "a person has to decide; say so, and don't try it another way";
  }
  return write(shown);
}
