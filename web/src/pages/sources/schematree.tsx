import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { write } from "@/api/json";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { asSchema, type Child, childrenOf, limits, resolved, type Schema, typeText } from "./schema";

const MANY = 60;
const VALUES = 12;

/** A schema as fields: what is below one is worked out when it is opened, so a circle can be followed without end. */
export function SchemaTree({ schema, label }: { schema: unknown; label: string }) {
  const root = asSchema(schema);
  const below = childrenOf(root, root);
  const alone = below.length === 0;
  return (
    <section
      aria-label={label}
      className="min-w-0 overflow-x-auto rounded-lg border border-line bg-raised/40 px-3 py-2"
    >
      {alone ? (
        <p className="text-dim text-sm">{schema ? typeText(root, root) : "Not described"}</p>
      ) : (
        <>
          {typeText(root, root) !== "object" && (
            <p className="mb-1 text-dim text-xs">{visible(typeText(root, root))}</p>
          )}
          <Fields below={below} root={root} depth={0} />
        </>
      )}
    </section>
  );
}

function Fields({ below, root, depth }: { below: Child[]; root: Schema; depth: number }) {
  const [shown, setShown] = useState(MANY);
  return (
    <ul className={depth > 0 ? "border-line border-l pl-2" : ""}>
      {below.slice(0, shown).map((child) => (
        <Field key={child.name} child={child} root={root} depth={depth} />
      ))}
      {below.length > shown && (
        <li>
          <button type="button" className="text-accent text-xs underline" onClick={() => setShown(shown + 500)}>
            {below.length - shown} more fields
          </button>
        </li>
      )}
    </ul>
  );
}

function Field({ child, root, depth }: { child: Child; root: Schema; depth: number }) {
  const [open, setOpen] = useState(depth < 1 && child.required);
  const below = childrenOf(child.schema, root);
  const name = visible(child.name);
  return (
    <li className="py-1">
      <div className="flex items-start gap-1">
        {below.length > 0 ? (
          <button
            type="button"
            aria-expanded={open}
            aria-label={`Fields of ${name}`}
            onClick={() => setOpen(!open)}
            className="mt-px flex size-4 shrink-0 items-center justify-center rounded text-dim hover:bg-raised"
          >
            <ChevronRight size={12} aria-hidden="true" className={open ? "rotate-90" : ""} />
          </button>
        ) : (
          <span className="w-4 shrink-0" />
        )}
        <Head child={child} root={root} />
      </div>
      {open && below.length > 0 && (
        <div className="mt-1 pl-2">
          <Fields below={below} root={root} depth={depth + 1} />
        </div>
      )}
    </li>
  );
}

function Head({ child, root }: { child: Child; root: Schema }) {
  const schema = resolved(child.schema, root);
  return (
    <div className="min-w-0">
      <div className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5">
        <code
          className={`font-mono text-xs ${child.required ? "font-semibold" : ""} ${schema.deprecated ? "line-through" : ""}`}
        >
          {visible(child.name)}
        </code>
        <span className="break-words font-mono text-accent text-xs">{visible(typeText(child.schema, root))}</span>
        {child.required && <span className="text-dim text-xs">required</span>}
        {schema.deprecated && <Badge>deprecated</Badge>}
        {schema.default !== undefined && (
          <span className="text-dim text-xs">default {visible(write(schema.default))}</span>
        )}
        {limits(schema).map((text) => (
          <span key={text} className="break-all text-dim text-xs">
            {visible(text)}
          </span>
        ))}
      </div>
      {schema.enum && <Values values={schema.enum} />}
      {schema.description && (
        <p className="mt-0.5 max-w-prose whitespace-pre-line break-words text-dim text-xs">
          {visible(schema.description.slice(0, 600), "\n")}
        </p>
      )}
    </div>
  );
}

function Values({ values }: { values: unknown[] }) {
  return (
    <p className="mt-0.5 flex flex-wrap gap-1">
      {values.slice(0, VALUES).map((value) => (
        <code key={write(value)} className="break-all rounded bg-raised px-1 font-mono text-xs">
          {visible(write(value))}
        </code>
      ))}
      {values.length > VALUES && <span className="text-dim text-xs">and {values.length - VALUES} more</span>}
    </p>
  );
}
