// A form from a JSON Schema: plain fields for plain properties, JSON for the rest. The daemon checks; this only helps.
type Schema = {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  description?: string;
  $ref?: string;
  $defs?: Record<string, Schema>;
  definitions?: Record<string, Schema>;
};

export type Field = {
  name: string;
  type: "string" | "number" | "integer" | "boolean" | "json";
  required: boolean;
  description: string;
  options?: string[];
  example?: string;
};

const PLAIN = ["string", "number", "integer", "boolean"];

function resolved(schema: Schema, root: Schema): Schema {
  const name = schema.$ref?.match(/^#\/(?:\$defs|definitions)\/([^/]+)$/)?.[1];
  const found = name && (root.$defs ?? root.definitions)?.[decodeURIComponent(name)];
  return found ? { ...found, description: schema.description ?? found.description } : schema;
}

export function fieldsOf(input: unknown): Field[] {
  const root = (typeof input === "object" && input !== null ? input : {}) as Schema;
  const required = new Set(resolved(root, root).required ?? []);
  const properties = Object.entries(resolved(root, root).properties ?? {});
  const fields = properties.map(([name, given]) => field(name, resolved(given, root), required.has(name)));
  return fields.sort((one, other) => Number(other.required) - Number(one.required));
}

function field(name: string, schema: Schema, required: boolean): Field {
  const description = (schema.description ?? "").slice(0, 300);
  if (schema.enum?.every((value) => typeof value === "string")) {
    return { name, type: "string", required, description, options: schema.enum as string[] };
  }
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((type) => type !== "null");
  const type = types.length === 1 && types[0] && PLAIN.includes(types[0]) ? (types[0] as Field["type"]) : "json";
  if (type === "boolean") return { name, type, required, description, options: ["true", "false"] };
  return { name, type, required, description, example: types[0] === "array" ? "[…]" : "{…}" };
}

export function argumentsOf(fields: Field[], form: FormData) {
  const value: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const { name, type, required } of fields) {
    const text = String(form.get(name) ?? "");
    if (text === "" && !(required && type === "string")) continue;
    if (type === "string") value[name] = text;
    else {
      try {
        value[name] = JSON.parse(text);
      } catch {
        problems[name] = "This is not JSON";
      }
    }
  }
  return { value, problems };
}
