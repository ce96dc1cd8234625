import { Plus, Trash2 } from "lucide-react";
import { useId } from "react";
import { write } from "@/api/json";
import { visible } from "@/text/visible";
import { Button, IconButton } from "@/ui/button";
import { Choice, TextArea, TextField } from "@/ui/field";
import { limits, type Schema, typeText } from "../schema";
import type { Problems } from "./collect";
import { type Draft, type Field, initial, type Shape, shapeOf } from "./shape";

type Place = { root: Schema; problems: Problems; at: string; depth: number };
type Change = (draft: Draft) => void;

export function Inputs({
  fields,
  drafts,
  onChange,
  ...place
}: Place & {
  fields: Field[];
  drafts: { [name: string]: Draft };
  onChange: (drafts: { [name: string]: Draft }) => void;
}) {
  return (
    <div className="space-y-3">
      {fields.map((field) => (
        <Input
          key={field.name}
          {...place}
          at={place.at ? `${place.at}.${field.name}` : field.name}
          field={field}
          draft={drafts[field.name]}
          onChange={(draft) => onChange({ ...drafts, [field.name]: draft })}
        />
      ))}
    </div>
  );
}

function Input({ field, draft, onChange, ...place }: Place & { field: Field; draft: Draft; onChange: Change }) {
  const shape = shapeOf(field.schema, place.root, field.name, place.depth);
  const label = `${visible(field.name)}${field.required ? "" : " (optional)"}`;
  if (shape.kind === "object" || shape.kind === "list")
    return <Group {...{ shape, field, label, draft, onChange }} {...place} />;
  return <Plain shape={shape} label={label} required={field.required} draft={draft} onChange={onChange} {...place} />;
}

function Plain({
  shape,
  label,
  required,
  draft,
  onChange,
  ...place
}: Place & { shape: Shape; label: string; required: boolean; draft: Draft; onChange: Change }) {
  const { schema } = shape;
  const text = typeof draft === "string" ? draft : "";
  const shared = {
    label,
    hint: <Hint schema={schema} />,
    error: place.problems[place.at],
    value: text,
    "aria-required": required,
    placeholder: schema.default !== undefined ? visible(write(schema.default)) : undefined,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  if (shape.kind === "choice")
    return (
      <Choice {...shared}>
        <option value="">{required ? "Choose…" : "Leave it out"}</option>
        {shape.options.map((option, at) => (
          <option key={write(option)} value={at}>
            {visible(typeof option === "string" ? option : write(option))}
          </option>
        ))}
      </Choice>
    );
  if (shape.kind === "json" || (shape.kind === "text" && shape.long))
    return (
      <TextArea
        {...shared}
        label={shape.kind === "json" ? `${label} as JSON` : label}
        placeholder={shape.kind === "json" ? visible(typeText(schema, place.root)) : shared.placeholder}
        rows={3}
        spellCheck={false}
        className={shape.kind === "json" ? "font-mono text-xs" : ""}
      />
    );
  const number = shape.kind === "number";
  return (
    <TextField
      {...shared}
      type={number ? "text" : shape.kind === "text" ? shape.input : "text"}
      inputMode={number ? "decimal" : undefined}
      autoComplete="off"
      spellCheck={false}
    />
  );
}

/** In one paragraph, and cut between words. */
function shortly(text: string): string {
  const whole = text.trim().replace(/\s*\n\s*/g, " ");
  return whole.length > 300 ? `${whole.slice(0, 300).replace(/\s+\S*$/, "")}…` : whole;
}

function Hint({ schema }: { schema: Schema }) {
  const said = [shortly(schema.description ?? ""), limits(schema).join(", ")].filter(Boolean).join(" · ");
  return said ? visible(said) : undefined;
}

type GroupProps = Place & {
  shape: Extract<Shape, { kind: "object" | "list" }>;
  field: Field;
  label: string;
  draft: Draft;
  onChange: Change;
};

function Group({ shape, field, label, draft, onChange, ...place }: GroupProps) {
  const heading = useId();
  const given = draft !== undefined || field.required;
  const begin = () => onChange(shape.kind === "list" ? [] : initial(field.schema, place.root, true, "", place.depth));
  return (
    <fieldset aria-labelledby={heading} className="min-w-0 rounded-lg border border-line p-3">
      <div className="flex items-center gap-2">
        <span id={heading} className="font-medium text-sm">
          {label}
        </span>
        {shape.schema.description && (
          <span className="min-w-0 truncate text-dim text-xs">{visible(shortly(shape.schema.description))}</span>
        )}
        {!field.required && (
          <Button size="small" className="ml-auto" onClick={() => (given ? onChange(undefined) : begin())}>
            {given ? `Leave out ${visible(field.name)}` : `Give ${visible(field.name)}`}
          </Button>
        )}
      </div>
      {given && (
        <div className="mt-3">
          {shape.kind === "object" ? (
            <Inputs
              {...place}
              depth={place.depth + 1}
              fields={shape.fields}
              drafts={typeof draft === "object" && !Array.isArray(draft) ? draft : {}}
              onChange={onChange}
            />
          ) : (
            <Items {...place} item={shape.item} drafts={Array.isArray(draft) ? draft : []} onChange={onChange} />
          )}
        </div>
      )}
    </fieldset>
  );
}

function Items({
  item,
  drafts,
  onChange,
  ...place
}: Place & { item: Schema; drafts: Draft[]; onChange: (drafts: Draft[]) => void }) {
  const change = (at: number, draft: Draft) => onChange(drafts.map((one, index) => (index === at ? draft : one)));
  return (
    <div className="space-y-2">
      {drafts.map((draft, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an item is its place
        <div key={at} className="flex min-w-0 items-start gap-1">
          <div className="min-w-0 flex-1">
            <Input
              {...place}
              depth={place.depth + 1}
              at={`${place.at}.${at}`}
              field={{ name: `item ${at + 1}`, schema: item, required: true }}
              draft={draft}
              onChange={(made) => change(at, made)}
            />
          </div>
          <IconButton
            label={`Remove item ${at + 1}`}
            onClick={() => onChange(drafts.filter((_, index) => index !== at))}
          >
            <Trash2 size={14} aria-hidden="true" />
          </IconButton>
        </div>
      ))}
      <Button size="small" onClick={() => onChange([...drafts, initial(item, place.root, true, "", place.depth + 1)])}>
        <Plus size={13} aria-hidden="true" /> Add an item
      </Button>
    </div>
  );
}
