// Which control a schema gets. Whatever has no plain one is written as JSON.
import { write } from "@/api/json";
import { alternatives, exampleOf, resolved, type Schema, typesOf } from "../schema";

export type Draft = string | Draft[] | { [name: string]: Draft } | undefined;

export type Field = { name: string; schema: Schema; required: boolean };
export type Shape =
  | { kind: "text"; input: "text" | "date" | "datetime-local" | "email" | "url"; long: boolean; schema: Schema }
  | { kind: "number"; integer: boolean; schema: Schema }
  | { kind: "choice"; options: unknown[]; schema: Schema }
  | { kind: "list"; item: Schema; schema: Schema }
  | { kind: "object"; fields: Field[]; schema: Schema }
  | { kind: "json"; schema: Schema };

const DEEPEST = 4;
const INPUTS = { date: "date", "date-time": "datetime-local", email: "email", uri: "url" } as const;
const LONG = /^(body|content|text|description|message|html|markdown|query|sql|prompt)$/i;

export function shapeOf(given: Schema, root: Schema, name: string, depth: number): Shape {
  const schema = resolved(given, root);
  if (schema.enum) return { kind: "choice", options: schema.enum, schema };
  if (schema.const !== undefined) return { kind: "choice", options: [schema.const], schema };
  const several = alternatives(schema);
  if (several.length === 1 && several[0]) return shapeOf({ ...several[0] }, root, name, depth);
  const types = typesOf(schema);
  if (several.length > 1 || types.length !== 1) return fallback(schema, root, depth);
  switch (types[0]) {
    case "boolean":
      return { kind: "choice", options: [true, false], schema };
    case "integer":
    case "number":
      return { kind: "number", integer: types[0] === "integer", schema };
    case "string":
      return { kind: "text", input: inputOf(schema), long: LONG.test(name) && !schema.format, schema };
    case "array":
      return schema.items && depth < DEEPEST ? { kind: "list", item: schema.items, schema } : { kind: "json", schema };
    default:
      return fallback(schema, root, depth);
  }
}

function fallback(schema: Schema, _root: Schema, depth: number): Shape {
  const fields = fieldsOf(schema);
  const plain = fields.length > 0 && !schema.oneOf && !schema.anyOf && depth < DEEPEST;
  return plain ? { kind: "object", fields, schema } : { kind: "json", schema };
}

function inputOf(schema: Schema) {
  return INPUTS[schema.format as keyof typeof INPUTS] ?? "text";
}

/** Required ones first, in the order of the schema; what only the service writes is left out. */
export function fieldsOf(schema: Schema): Field[] {
  const required = new Set(schema.required ?? []);
  const found = Object.entries(schema.properties ?? {}).filter(([, one]) => !one.readOnly);
  const fields = found.map(([name, one]) => ({ name, schema: one, required: required.has(name) }));
  return fields.sort((one, other) => Number(other.required) - Number(one.required));
}

/** What a form starts with: of what is required, the value that the schema itself proposes. */
export function initial(given: Schema, root: Schema, required: boolean, name = "", depth = 0): Draft {
  if (!required) return undefined;
  const shape = shapeOf(given, root, name, depth);
  if (shape.kind === "object") return initialFields(shape.fields, root, {}, true, depth + 1);
  if (shape.kind === "list") return [];
  const example = exampleOf(shape.schema);
  if (example === undefined) return shape.kind === "choice" && shape.options.length === 1 ? "0" : "";
  return draftOf(example, shape, root, true, depth);
}

/** `example` are arguments that are accepted, if not `meant`, with the names of fields where nothing better is known. */
export function initialFields(
  fields: Field[],
  root: Schema,
  example: object,
  meant = true,
  depth = 0,
): { [name: string]: Draft } {
  const known = example as Record<string, unknown>;
  const made = fields.map(({ name, schema, required }) => {
    const has = known[name] !== undefined && (meant || (required && known[name] !== name));
    const draft = has
      ? draftOf(known[name], shapeOf(schema, root, name, depth), root, meant, depth)
      : initial(schema, root, required, name, depth);
    return [name, draft] as const;
  });
  return Object.fromEntries(made.filter(([, draft]) => draft !== undefined));
}

/** A value as it would have been typed. */
function draftOf(value: unknown, shape: Shape, root: Schema, meant: boolean, depth: number): Draft {
  switch (shape.kind) {
    case "choice":
      return String(
        Math.max(
          0,
          shape.options.findIndex((one) => write(one) === write(value)),
        ),
      );
    case "list": {
      const item = shapeOf(shape.item, root, "", depth + 1);
      return Array.isArray(value) ? value.map((one) => draftOf(one, item, root, meant, depth + 1)) : [];
    }
    case "object":
      return initialFields(shape.fields, root, typeof value === "object" && value ? value : {}, meant, depth + 1);
    case "json":
      return write(value, 2);
    case "text":
      return shape.input === "datetime-local" ? String(value).slice(0, 16) : String(value);
    default:
      return String(value);
  }
}
