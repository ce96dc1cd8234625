import { write } from "@/api/json";
// JSON Schemas as people look at them: fields with a type, resolved one step at a time, so that circles do no harm.

export type Schema = {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  example?: unknown;
  examples?: unknown[];
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  deprecated?: boolean;
  readOnly?: boolean;
  writeOnly?: boolean;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  $ref?: string;
  $defs?: Record<string, Schema>;
};

export type Child = { name: string; schema: Schema; required: boolean };

const STEPS = 20;

export function asSchema(value: unknown): Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}

export function refName(schema: Schema): string {
  const found = schema.$ref?.match(/^#\/\$defs\/(.+)$/)?.[1];
  return found ? found.replaceAll("~1", "/").replaceAll("~0", "~") : "";
}

/** What a schema says itself, with what it refers to beneath, and all parts of an `allOf` together. */
export function resolved(given: Schema | undefined, root: Schema): Schema {
  let schema = asSchema(given);
  for (let step = 0; schema.$ref && step < STEPS; step += 1) {
    const { $ref: _, ...own } = schema;
    schema = { ...asSchema(root.$defs?.[refName(schema)]), ...own };
  }
  if (!schema.allOf?.length) return schema;
  const { allOf, ...own } = schema;
  return allOf.reduce<Schema>((made, part) => joined(made, part.allOf ? part : resolved(part, root)), own);
}

function joined(one: Schema, other: Schema): Schema {
  return {
    ...other,
    ...one,
    properties: { ...other.properties, ...one.properties },
    required: [...(one.required ?? []), ...(other.required ?? [])],
  };
}

export function typesOf(schema: Schema): string[] {
  const types = Array.isArray(schema.type) ? schema.type : schema.type ? [schema.type] : [];
  return types.filter((type) => type !== "null");
}

export function alternatives(schema: Schema): Schema[] {
  return (schema.oneOf ?? schema.anyOf ?? []).filter((one) => one.type !== "null");
}

/** In a word or two: `string`, `array of Invoice`, `date-time`, `A | B`. */
export function typeText(given: Schema | undefined, root: Schema, depth = 0): string {
  const name = refName(asSchema(given));
  const schema = resolved(given, root);
  if (schema.enum) return "one of";
  if (schema.const !== undefined) return write(schema.const);
  const types = typesOf(schema);
  if (types.includes("array")) return depth > 3 ? "array" : `array of ${typeText(schema.items, root, depth + 1)}`;
  const several = alternatives(schema);
  if (several.length > 1 && depth < 2) return several.map((one) => typeText(one, root, depth + 1)).join(" | ");
  const plain = types.join(" | ") || (schema.properties ? "object" : "anything");
  if (name && (plain === "object" || plain === "anything")) return name;
  return schema.format ? `${plain} (${schema.format})` : plain;
}

/** The fields below: of an object its own, of a list those of its items, of alternatives each of them. */
export function childrenOf(given: Schema | undefined, root: Schema): Child[] {
  const schema = resolved(given, root);
  if (schema.properties && Object.keys(schema.properties).length > 0) {
    const required = new Set(schema.required ?? []);
    const own = Object.entries(schema.properties).map(([name, one]) => ({
      name,
      schema: one,
      required: required.has(name),
    }));
    return typeof schema.additionalProperties === "object" ? [...own, others(schema.additionalProperties)] : own;
  }
  if (typesOf(schema).includes("array") && schema.items) {
    const below = childrenOf(schema.items, root);
    return below.length > 0 ? below : [];
  }
  const several = alternatives(schema);
  if (several.length > 1)
    return several.map((one, at) => ({ name: one.title ?? `option ${at + 1}`, schema: one, required: false }));
  if (several[0]) return childrenOf(several[0], root);
  return typeof schema.additionalProperties === "object" ? [others(schema.additionalProperties)] : [];
}

function others(schema: Schema): Child {
  return { name: "any other name", schema, required: false };
}

/** What else it says about a value, each in a few characters. */
export function limits(schema: Schema): string[] {
  const found: string[] = [];
  const say = (text: string, value: unknown, what = "") => {
    if (value !== undefined) found.push(`${text} ${String(value)}${what}`);
  };
  say("≥", schema.minimum);
  say(">", schema.exclusiveMinimum);
  say("≤", schema.maximum);
  say("<", schema.exclusiveMaximum);
  say("at least", schema.minLength, " characters");
  say("at most", schema.maxLength, " characters");
  say("at least", schema.minItems, " items");
  say("at most", schema.maxItems, " items");
  say("pattern", schema.pattern);
  return found;
}

/** A value that the schema itself gives as one to try. */
export function exampleOf(schema: Schema): unknown {
  return schema.example ?? schema.examples?.[0] ?? schema.default ?? schema.const;
}
