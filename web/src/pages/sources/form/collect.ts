// From what was typed to arguments. The daemon checks them again, and all of them; this says early what it would refuse.
import { parse, rounded } from "@/api/json";
import type { Schema } from "../schema";
import { type Draft, type Field, type Shape, shapeOf } from "./shape";

export type Problems = Record<string, string>;
type Told = { value: unknown; problems: Problems };

export const INEXACT =
  "It contains a number that is too large to send exactly from here: call the tool from Python code";
const NOTHING: unique symbol = Symbol("nothing");

export function collect(fields: Field[], drafts: { [name: string]: Draft }, root: Schema): Told {
  const problems: Problems = {};
  const value = objectOf(fields, drafts, root, "", 0, problems);
  return { value, problems };
}

function objectOf(
  fields: Field[],
  drafts: { [name: string]: Draft },
  root: Schema,
  at: string,
  depth: number,
  problems: Problems,
): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const field of fields) {
    const place = at ? `${at}.${field.name}` : field.name;
    const shape = shapeOf(field.schema, root, field.name, depth);
    const value = given(shape, drafts[field.name], field.required, root, place, depth, problems);
    if (value !== NOTHING) made[field.name] = value;
  }
  return made;
}

function given(
  shape: Shape,
  draft: Draft,
  required: boolean,
  root: Schema,
  at: string,
  depth: number,
  problems: Problems,
): unknown {
  if (draft === undefined || (draft === "" && shape.kind !== "text") || (draft === "" && !required)) {
    if (required && shape.kind === "object") return objectOf(shape.fields, {}, root, at, depth + 1, problems);
    if (required && shape.kind === "list") return [];
    if (required) problems[at] = "This is required";
    return NOTHING;
  }
  if (shape.kind === "object" && typeof draft === "object" && !Array.isArray(draft))
    return objectOf(shape.fields, draft, root, at, depth + 1, problems);
  if (shape.kind === "list" && Array.isArray(draft)) {
    const item = shapeOf(shape.item, root, "", depth + 1);
    return draft.map((one, index) => given(item, one, true, root, `${at}.${index}`, depth + 1, problems));
  }
  return plain(shape, String(draft), required, at, problems);
}

function plain(shape: Shape, text: string, required: boolean, at: string, problems: Problems): unknown {
  const refuse = (why: string) => {
    problems[at] = why;
    return NOTHING;
  };
  switch (shape.kind) {
    case "choice":
      return shape.options[Number(text)];
    case "number": {
      const number = Number(text);
      const why = !Number.isFinite(number)
        ? "This is not a number"
        : Number.isInteger(number) && !Number.isSafeInteger(number)
          ? INEXACT
          : wrongNumber(number, shape);
      return why ? refuse(why) : number;
    }
    case "text": {
      const value = shape.input === "datetime-local" && text ? moment(text) : text;
      const why = value === null ? "This is not a time" : wrongText(value, shape.schema, required);
      return why ? refuse(why) : value;
    }
    default:
      try {
        return asJson(text, refuse);
      } catch (error) {
        return refuse(`This is not JSON: ${error instanceof Error ? error.message : ""}`);
      }
  }
}

function asJson(text: string, refuse: (why: string) => unknown): unknown {
  const value = parse(text);
  return rounded(value) === undefined ? value : refuse(INEXACT);
}

function moment(text: string): string | null {
  const at = new Date(text);
  return Number.isNaN(at.valueOf()) ? null : at.toISOString();
}

function wrongNumber(value: number, { integer, schema }: { integer: boolean; schema: Schema }): string {
  if (integer && !Number.isInteger(value)) return "This must be a whole number";
  if (schema.minimum !== undefined && value < schema.minimum) return `This must be at least ${schema.minimum}`;
  if (schema.maximum !== undefined && value > schema.maximum) return `This must be at most ${schema.maximum}`;
  if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum)
    return `This must be more than ${schema.exclusiveMinimum}`;
  if (schema.exclusiveMaximum !== undefined && value >= schema.exclusiveMaximum)
    return `This must be less than ${schema.exclusiveMaximum}`;
  return "";
}

function wrongText(value: string, schema: Schema, required: boolean): string {
  if (value === "" && required && schema.minLength !== 0) return "This is required";
  if (schema.minLength !== undefined && value.length < schema.minLength)
    return `This must have at least ${schema.minLength} characters`;
  if (schema.maxLength !== undefined && value.length > schema.maxLength)
    return `This must have at most ${schema.maxLength} characters`;
  return schema.pattern && !fits(schema.pattern, value) ? `This must match ${schema.pattern}` : "";
}

/** A pattern that a browser can't read is left to the daemon. Long ones are too: they may take for ever. */
function fits(pattern: string, value: string): boolean {
  if (pattern.length > 200 || value.length > 500 || /[*+}]\)?[*+{]/.test(pattern)) return true;
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}
