import { Search } from "lucide-react";
import { type ComponentProps, type ReactNode, useId } from "react";

const BOX =
  "w-full min-w-0 rounded-lg border border-strong/60 bg-surface px-2.5 text-ink text-sm transition-colors placeholder:text-dim hover:border-strong focus-visible:border-accent disabled:opacity-60";

type Shared = { label: string; hint?: ReactNode; error?: string; hideLabel?: boolean };

function Frame({ id, label, hint, error, hideLabel, children }: Shared & { id: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <label htmlFor={id} className={hideLabel ? "sr-only" : "mb-1 block font-medium text-sm"}>
        {label}
      </label>
      {children}
      {hint && (
        <p id={`${id}-hint`} className="mt-1 text-dim text-xs">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} role="alert" className="mt-1 text-bad text-xs">
          {error}
        </p>
      )}
    </div>
  );
}

function described(id: string, hint?: ReactNode, error?: string) {
  const ids = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return { "aria-describedby": ids || undefined, "aria-invalid": error ? true : undefined };
}

export function TextField({
  label,
  hint,
  error,
  hideLabel,
  className = "",
  ...rest
}: Shared & ComponentProps<"input">) {
  const made = useId();
  const id = rest.id ?? made;
  return (
    <Frame {...{ id, label, hint, error, hideLabel }}>
      <input {...rest} {...described(id, hint, error)} id={id} className={`${BOX} h-8.5 ${className}`} />
    </Frame>
  );
}

export function TextArea({
  label,
  hint,
  error,
  hideLabel,
  className = "",
  ...rest
}: Shared & ComponentProps<"textarea">) {
  const made = useId();
  const id = rest.id ?? made;
  return (
    <Frame {...{ id, label, hint, error, hideLabel }}>
      <textarea {...rest} {...described(id, hint, error)} id={id} className={`${BOX} py-1.5 ${className}`} />
    </Frame>
  );
}

export function Choice({ label, hint, error, hideLabel, className = "", ...rest }: Shared & ComponentProps<"select">) {
  const made = useId();
  const id = rest.id ?? made;
  return (
    <Frame {...{ id, label, hint, error, hideLabel }}>
      <select {...rest} {...described(id, hint, error)} id={id} className={`${BOX} h-8.5 ${className}`} />
    </Frame>
  );
}

export function Tick({ label, ...rest }: { label: ReactNode } & ComponentProps<"input">) {
  return (
    <label className="flex min-w-0 items-start gap-2 text-sm">
      <input type="checkbox" className="mt-0.5 size-4 shrink-0 accent-accent" {...rest} />
      <span className="min-w-0 break-words">{label}</span>
    </label>
  );
}

/** `/` leads to it, Escape empties it. */
export function SearchField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (text: string) => void;
}) {
  return (
    <div className="relative w-56 max-w-full">
      <Search size={14} aria-hidden="true" className="pointer-events-none absolute top-2 left-2.5 text-dim" />
      <input
        data-search=""
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && onChange("")}
        className={`${BOX} h-7.5 pl-8`}
      />
    </div>
  );
}
