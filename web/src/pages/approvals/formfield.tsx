import type { ElicitationField } from "@/api/types";
import { visible } from "@/text/visible";
import { Choice, TextField, Tick } from "@/ui/field";

const TYPES: Record<string, string> = { email: "email", uri: "url", date: "date" };
const EXAMPLES: Record<string, string> = { "date-time": "2026-11-17T09:00:00Z", uri: "https://" };

/** One field of a form that a server describes. Its labels are the server's words. */
export function FormField({ field }: { field: ElicitationField }) {
  const label = `${visible(field.title || field.name)}${field.required ? "" : " (optional)"}`;
  const hint = visible(field.description) || undefined;
  const shared = { name: field.name, label, hint, required: field.required };
  if (field.kind === "choices") return <Choices field={field} label={label} hint={hint} />;
  if (field.kind === "boolean" || field.kind === "choice") {
    const yes = [
      { value: "true", title: "Yes" },
      { value: "false", title: "No" },
    ];
    const chosen = field.default === null || field.default === undefined ? "" : String(field.default);
    return (
      <Choice {...shared} defaultValue={chosen}>
        <option value="">Choose…</option>
        {(field.kind === "boolean" ? yes : field.options).map((option) => (
          <option key={option.value} value={option.value}>
            {visible(option.title)}
          </option>
        ))}
      </Choice>
    );
  }
  const { minLength, maxLength, minimum, maximum } = field.limits;
  const numeric = field.kind === "integer" || field.kind === "number";
  return (
    <TextField
      {...shared}
      {...{ minLength, maxLength }}
      {...(numeric ? { min: minimum, max: maximum, step: field.kind === "integer" ? 1 : "any" } : {})}
      type={numeric ? "number" : (TYPES[field.format] ?? "text")}
      placeholder={EXAMPLES[field.format]}
      defaultValue={field.default === null || field.default === undefined ? "" : String(field.default)}
      autoComplete="off"
      spellCheck={false}
    />
  );
}

function Choices({ field, label, hint }: { field: ElicitationField; label: string; hint: string | undefined }) {
  const chosen: unknown[] = Array.isArray(field.default) ? field.default : [];
  return (
    <fieldset className="min-w-0 space-y-1">
      <legend className="mb-1 font-medium text-sm">{label}</legend>
      {field.options.map((option) => (
        <Tick
          key={option.value}
          name={field.name}
          value={option.value}
          defaultChecked={chosen.includes(option.value)}
          label={visible(option.title)}
        />
      ))}
      {hint && <p className="text-dim text-xs">{hint}</p>}
    </fieldset>
  );
}

/** What was entered, as values of each field's kind. What was left empty is left out. */
export function contentOf(fields: readonly ElicitationField[], entered: FormData): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  for (const { name, kind, required } of fields) {
    const [first = "", ...rest] = entered.getAll(name).map(String);
    if (kind === "choices") {
      const chosen = first === "" ? [] : [first, ...rest];
      if (chosen.length > 0 || required) content[name] = chosen;
    } else if (first !== "") {
      content[name] =
        kind === "boolean" ? first === "true" : kind === "integer" || kind === "number" ? Number(first) : first;
    }
  }
  return content;
}
