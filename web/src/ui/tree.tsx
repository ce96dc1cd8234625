import { createContext, useContext, useState } from "react";
import { isNested, Written, write } from "@/api/json";
import { visible } from "@/text/visible";
import { CopyButton } from "./copy";

const LONG = 400;
const MANY = 50;
const Whole = createContext(false);

type Props = { value: unknown; label?: string; bounded?: boolean; whole?: boolean };

/** A JSON value that people can read. Everything in it may come from a stranger, so all of it is text. Long parts are
 * folded, with a mark; of one that is shown `whole`, nothing is. */
export function Tree({ value, label = "value", bounded = false, whole = false }: Props) {
  if (bounded)
    return (
      <section
        aria-label="Scrollable value"
        tabIndex={0}
        className="max-h-72 overflow-y-auto rounded-lg border border-line [&>div]:border-0"
      >
        <Tree value={value} label={label} />
      </section>
    );
  return (
    <div className="group relative min-w-0 overflow-x-auto rounded-lg border border-line bg-raised/60 px-3 py-2 font-mono text-xs leading-5">
      <div className="absolute top-1 right-1">
        <CopyButton text={write(value, 2)} label={`Copy the ${label} as JSON`} />
      </div>
      <div className="pr-7">
        <Whole value={whole}>
          <Node value={value} depth={0} />
        </Whole>
      </div>
    </div>
  );
}

function Node({ value, depth }: { value: unknown; depth: number }) {
  if (typeof value === "string") return <Text text={value} />;
  if (value instanceof Written) return <span className="text-accent">{value.text}</span>;
  if (!isNested(value)) return <span className="text-accent">{String(value)}</span>;
  const entries = Object.entries(value);
  if (entries.length === 0) return <span className="text-dim">{Array.isArray(value) ? "[ ]" : "{ }"}</span>;
  return <Entries entries={entries} list={Array.isArray(value)} depth={depth} />;
}

function Entries({ entries, list, depth }: { entries: [string, unknown][]; list: boolean; depth: number }) {
  const whole = useContext(Whole);
  const [unfolded, setShown] = useState(MANY);
  const shown = whole ? entries.length : unfolded;
  const rows = entries.slice(0, shown).map(([name, value]) => <Row key={name} {...{ name, value, list, depth }} />);
  return (
    <ul className={depth > 0 ? "ml-1 border-line border-l pl-3" : ""}>
      {rows}
      {entries.length > shown && (
        <li>
          <button type="button" className="text-accent underline" onClick={() => setShown(shown + 500)}>
            {entries.length - shown} more
          </button>
        </li>
      )}
    </ul>
  );
}

function Row({ name, value, list, depth }: { name: string; value: unknown; list: boolean; depth: number }) {
  const key = <span className={list ? "text-dim" : "text-ink"}>{list ? `${name}.` : visible(name)}</span>;
  const whole = useContext(Whole);
  const nested = isNested(value) && Object.keys(value).length > 0;
  if (!nested) {
    return (
      <li className="break-words">
        {key}
        {!list && <span className="text-dim">: </span>} <Node value={value} depth={depth + 1} />
      </li>
    );
  }
  const count = <span className="text-dim">{Array.isArray(value) ? `${value.length} items` : ""}</span>;
  if (whole) {
    return (
      <li>
        {key} {count}
        <Node value={value} depth={depth + 1} />
      </li>
    );
  }
  return (
    <li>
      <details open={depth < 4} className="group/part">
        <summary className="marker:text-dim">
          {key} {count}
          <span className="text-dim group-open/part:hidden"> … folded</span>
        </summary>
        <Node value={value} depth={depth + 1} />
      </details>
    </li>
  );
}

/** Line breaks inside a value stay inside it; what is too long is cut, and says so. */
function Text({ text }: { text: string }) {
  const whole = useContext(Whole);
  const [unfolded, setUnfolded] = useState(false);
  const cut = !whole && !unfolded && text.length > LONG;
  return (
    <span className="whitespace-pre-wrap break-words text-ok [overflow-wrap:anywhere]">
      "{visible(cut ? text.slice(0, LONG) : text, "\n")}"
      {cut && (
        <button type="button" className="ml-1 font-sans text-accent underline" onClick={() => setUnfolded(true)}>
          show {text.length - LONG} more characters
        </button>
      )}
    </span>
  );
}
