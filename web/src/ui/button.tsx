import type { ComponentProps } from "react";

export type Look = "primary" | "plain" | "danger" | "ghost";

const BASE =
  "inline-flex select-none items-center justify-center gap-1.5 whitespace-nowrap rounded-lg border font-medium transition-colors disabled:cursor-not-allowed disabled:opacity-50";
const LOOKS: Record<Look, string> = {
  primary: "border-transparent bg-accent text-accent-ink shadow-sm hover:brightness-110 active:brightness-95",
  plain: "border-line bg-surface text-ink hover:border-strong/50 hover:bg-raised active:bg-line",
  danger: "border-transparent bg-bad-soft text-bad hover:border-bad/40 active:brightness-95",
  ghost: "border-transparent bg-transparent text-dim hover:bg-raised hover:text-ink active:bg-line",
};
const SIZES = {
  small: "h-7 px-2 text-xs",
  icon: "size-7 shrink-0 p-0",
  normal: "h-8.5 px-3 text-sm",
  large: "h-10 px-4 text-sm",
};

export function looks(look: Look = "plain", size: keyof typeof SIZES = "normal"): string {
  return `${BASE} ${LOOKS[look]} ${SIZES[size]}`;
}

type Props = ComponentProps<"button"> & { look?: Look; size?: keyof typeof SIZES; busy?: boolean };

export function Button({ look, size, busy, className = "", disabled, type = "button", ...rest }: Props) {
  return (
    <button
      type={type}
      className={`${looks(look, size)} ${className}`}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      {...rest}
    />
  );
}

/** For icons alone: the label is what everybody who can't see the icon gets. */
export function IconButton({ label, ...rest }: Omit<Props, "aria-label"> & { label: string }) {
  return <Button look="ghost" size="icon" aria-label={label} title={label} {...rest} />;
}
