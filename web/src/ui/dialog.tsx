import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { IconButton } from "./button";

type Props = { open: boolean; onClose: () => void; title: string; children: ReactNode; wide?: boolean; bare?: boolean };

/** The browser's own: it holds the focus, makes the rest inert, closes with Escape, and needs no injected style. */
export function Dialog({ open, onClose, title, children, wide, bare }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = element.current;
    if (!dialog) return;
    if (open && !dialog.open) dialog.showModal();
    if (!open && dialog.open) dialog.close();
  }, [open]);
  if (!open) return null;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it; a click beside it is only a shortcut
    <dialog
      ref={element}
      aria-labelledby={heading}
      onClose={onClose}
      onClick={(event) => event.target === element.current && onClose()}
      className={`card fixed inset-0 m-auto h-fit max-h-[88dvh] w-[calc(100vw-2rem)] overflow-y-auto p-0 text-ink ${wide ? "max-w-3xl" : "max-w-lg"} ${bare ? "mt-[12dvh]" : ""}`}
    >
      <div className={bare ? "sr-only" : "flex items-center justify-between px-5 pt-4"}>
        {/* First, so that the focus begins there and not at the way out, unless what is opened is a field. */}
        <h2 id={heading} tabIndex={bare ? undefined : -1} className="font-semibold text-base outline-none">
          {title}
        </h2>
        {!bare && (
          <IconButton label="Close" onClick={onClose}>
            <X size={15} aria-hidden="true" />
          </IconButton>
        )}
      </div>
      <div className={bare ? "" : "p-5 pt-3"}>{children}</div>
    </dialog>
  );
}
