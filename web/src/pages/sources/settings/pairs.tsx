import { Plus, RotateCcw, Trash2 } from "lucide-react";
import { visible } from "@/text/visible";
import { Button, IconButton } from "@/ui/button";
import { TextField } from "@/ui/field";
import type { Pair } from "./draft";

type Props = { title: string; one: string; pairs: Pair[]; onChange: (pairs: Pair[]) => void };

/** Headers or variables by their names. Values are write-only: what is stored is never shown. */
export function Pairs({ title, one, pairs, onChange }: Props) {
  const change = (at: number, made: Partial<Pair>) =>
    onChange(pairs.map((pair, index) => (index === at ? { ...pair, ...made } : pair)));
  const drop = (at: number, pair: Pair) =>
    pair.kept ? change(at, { gone: !pair.gone, value: "" }) : onChange(pairs.filter((_, index) => index !== at));
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 font-medium text-sm">{title}</legend>
      <div className="space-y-2">
        {pairs.map((pair, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
          <div key={at} className="flex min-w-0 items-start gap-2">
            <div className="w-2/5 min-w-0">
              {pair.kept ? (
                <p
                  className={`flex h-8.5 items-center truncate font-mono text-xs ${pair.gone ? "text-dim line-through" : ""}`}
                >
                  {visible(pair.name)}
                </p>
              ) : (
                <TextField
                  label={`Name of the ${one}`}
                  hideLabel
                  placeholder="Name"
                  spellCheck={false}
                  value={pair.name}
                  onChange={(event) => change(at, { name: event.target.value })}
                />
              )}
            </div>
            <div className="min-w-0 flex-1">
              <TextField
                label={`Value of ${visible(pair.name) || `the ${one}`}`}
                hideLabel
                type="password"
                autoComplete="off"
                disabled={pair.gone}
                placeholder={pair.gone ? "Will be removed" : pair.kept ? "Unchanged" : "Value"}
                value={pair.value}
                onChange={(event) => change(at, { value: event.target.value })}
              />
            </div>
            <IconButton
              label={pair.gone ? `Keep ${visible(pair.name)}` : `Remove ${visible(pair.name) || `the ${one}`}`}
              onClick={() => drop(at, pair)}
            >
              {pair.gone ? <RotateCcw size={14} aria-hidden="true" /> : <Trash2 size={14} aria-hidden="true" />}
            </IconButton>
          </div>
        ))}
        <Button size="small" onClick={() => onChange([...pairs, { name: "", value: "", kept: false, gone: false }])}>
          <Plus size={13} aria-hidden="true" /> Add a {one}
        </Button>
      </div>
    </fieldset>
  );
}
