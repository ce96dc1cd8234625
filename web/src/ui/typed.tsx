import { useEffect, useRef, useState } from "react";
import { TextField } from "./field";

type Props = {
  label: string;
  placeholder: string;
  value: string | undefined;
  list?: string;
  onTyped: (text: string | undefined) => void;
  "data-search"?: boolean;
};

/** Asks when one stops typing, not with every letter. Escape clears it. */
export function Typed({ value, onTyped, ...rest }: Props) {
  const [text, setText] = useState(value ?? "");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const told = useRef(value);
  useEffect(() => {
    // What comes back from the address is what was typed a moment ago: it must not undo what was typed since.
    if (value !== told.current) setText(value ?? "");
    told.current = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (typed: string, pause = 250) => {
    setText(typed);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      told.current = typed.trim() || undefined;
      onTyped(told.current);
    }, pause);
  };
  return (
    <TextField
      {...rest}
      hideLabel={rest["data-search"]}
      type="search"
      autoComplete="off"
      value={text}
      onChange={(event) => type(event.target.value)}
      onKeyDown={(event) => event.key === "Escape" && type("", 0)}
    />
  );
}
