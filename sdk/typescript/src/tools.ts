// `executor.tools.github.issues.list(...)`: one call, on the same road as those of any other code.
import { InvalidRequest } from "./errors.js";
import { write } from "./json.js";

/**
 * A tool, or the beginning of a path to one. `tools["a-b"].list` is for names that are not identifiers.
 *
 * What there is, only the daemon knows; and an index signature would make each part possibly undefined for programs
 * that are compiled with `noUncheckedIndexedAccess`. `executor.call` takes the type of the result.
 */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Tool = any;

export type CallTool = (path: string, args: Record<string, unknown>) => Promise<unknown>;

// What JavaScript itself looks for, such as `await`: no tool.
const RESERVED = new Set(["then", "catch", "finally", "toJSON", "inspect", "constructor", "prototype"]);

export function toolAt(call: CallTool, path = ""): Tool {
  const target = (args: Record<string, unknown> = {}) => call(path, args);
  return new Proxy(target, {
    get(_, name) {
      if (typeof name === "symbol" || (!path && RESERVED.has(name)) || name === "then") return undefined;
      return toolAt(call, path ? `${path}.${name}` : name);
    },
    set: () => false,
  });
}

/** In Python, which keeps integers of any size. The arguments are checked against the tool's schema anyway. */
export function callCode(path: string, args: Record<string, unknown>): string {
  let text: string;
  try {
    text = write(args);
  } catch (error) {
    throw new InvalidRequest(`an argument can't be expressed as JSON: ${(error as Error).message}`, {
      code: "invalid_request",
      hint: "pass plain data",
    });
  }
  return `import json\nreturn await tools(${quote(path)}, json.loads(${quote(text)}))`;
}

/** A string of JSON is one of Python, too. */
function quote(text: string): string {
  return JSON.stringify(text);
}
