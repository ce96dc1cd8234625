import { type ComponentProps, useEffect, useState } from "react";
import { Button } from "./button";

type Props = Omit<ComponentProps<typeof Button>, "onClick"> & { sure: string; onConfirm: () => void };

/** For what can't be undone: the first press asks, the second does it. It forgets the first one soon. */
export function ConfirmButton({ sure, onConfirm, children, ...rest }: Props) {
  const [asked, setAsked] = useState(false);
  useEffect(() => {
    if (!asked) return;
    const timer = setTimeout(() => setAsked(false), 5000);
    return () => clearTimeout(timer);
  }, [asked]);
  const pressed = () => {
    setAsked(!asked);
    if (asked) onConfirm();
  };
  return (
    <Button look={asked ? "danger" : "plain"} {...rest} onClick={pressed} onBlur={() => setAsked(false)}>
      {asked ? sure : children}
    </Button>
  );
}
