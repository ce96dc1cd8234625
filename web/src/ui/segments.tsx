type Props<Id extends string> = {
  label: string;
  options: { id: Id; title: string }[];
  value: Id;
  onChange: (id: Id) => void;
};

/** One of a few, all in sight. */
export function Segments<Id extends string>({ label, options, value, onChange }: Props<Id>) {
  return (
    <fieldset className="inline-flex rounded-lg bg-raised p-0.5">
      <legend className="sr-only">{label}</legend>
      {options.map((one) => (
        <label
          key={one.id}
          className="cursor-pointer rounded-md px-2.5 py-1 font-medium text-dim text-xs transition-colors hover:text-ink has-checked:bg-surface has-checked:text-ink has-checked:shadow-sm has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name={label}
            className="sr-only"
            checked={one.id === value}
            onChange={() => onChange(one.id)}
          />
          {one.title}
        </label>
      ))}
    </fieldset>
  );
}
