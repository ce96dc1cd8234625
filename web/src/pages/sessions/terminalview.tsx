import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { remove } from "@/api/client";
import { visible } from "@/text/visible";
import { Button } from "@/ui/button";
import { ConfirmButton } from "@/ui/confirm";
import { tellProblem } from "@/ui/toast";
import { Attachment, type Ended, type State } from "./attach";
import { path } from "./queries";
import type { Screen } from "./screen";

const SETTLED = 150; // milliseconds without another change of size

type Props = { session: string; terminal: string; mayWrite: boolean; onClose: () => void };

export function TerminalView({ session, terminal, mayWrite, onClose }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const attachment = useRef<Attachment>(undefined);
  const leaving = useRef<HTMLParagraphElement>(null);
  const client = useQueryClient();
  const [state, setState] = useState<State>();
  const [lost, setLost] = useState(false);
  const [ended, setEnded] = useState<Ended>();

  useEffect(() => {
    let screen: Screen | undefined;
    let gone = false;
    let timer = 0;
    let writing = false;
    const settle = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => {
        const size = screen?.fit();
        if (writing && size) attachment.current?.resize({ cols: size.cols, rows: size.rows });
      }, SETTLED);
    };
    const changes = new ResizeObserver(settle);
    const show = (now: State) => {
      writing = now.writing;
      setState(now);
      setLost(false);
    };
    const run = async () => {
      const { openScreen } = await import("./screen");
      if (gone || !place.current || !frame.current) return;
      const made = openScreen(place.current);
      screen = made;
      const { terminal: xterm } = made;
      xterm.attachCustomKeyEventHandler((event) => {
        if (event.key !== "Escape" || !event.shiftKey) return true;
        leaving.current?.focus();
        return false;
      });
      const attached = new Attachment(session, terminal, () => made.fit(), {
        screen: (now) => {
          xterm.reset();
          xterm.resize(now.cols, now.rows);
          show(now);
        },
        output: (bytes) => xterm.write(bytes),
        writer: (now) => {
          show(now);
          settle();
        },
        lost: () => setLost(true),
        problem: (message) => tellProblem(new Error(message)),
        ended: (how) => {
          setEnded(how);
          void client.invalidateQueries({ queryKey: ["agent_sessions", "terminals", session] });
        },
      });
      attachment.current = attached;
      xterm.onData((text) => attached.send(text));
      xterm.onBinary((text) => attached.sendBytes(Uint8Array.from(text, (one) => one.charCodeAt(0))));
      changes.observe(frame.current);
      xterm.focus();
    };
    void run();
    return () => {
      gone = true;
      clearTimeout(timer);
      changes.disconnect();
      attachment.current?.close();
      screen?.close();
    };
  }, [session, terminal, client]);

  const close = async () => {
    await client.refetchQueries({ queryKey: ["agent_sessions", "terminals", session] });
    onClose();
  };
  const end = () => remove(`${path(session)}/terminals/${encodeURIComponent(terminal)}`).catch(tellProblem);
  return (
    <section aria-label="Terminal">
      <div className="mb-2 flex min-h-7 flex-wrap items-center gap-2 text-dim text-sm">
        <p role="status">{describe(state, lost, ended)}</p>
        <div className="ml-auto flex gap-2">
          {mayWrite && state && !state.writing && !ended && (
            <Button size="small" look="primary" onClick={() => attachment.current?.takeOver()}>
              Take over
            </Button>
          )}
          {mayWrite && !ended && (
            <ConfirmButton size="small" sure="Really end?" onConfirm={() => void end()}>
              End
            </ConfirmButton>
          )}
          {ended && (
            <Button size="small" onClick={() => void close()}>
              Close
            </Button>
          )}
        </div>
      </div>
      <div
        ref={frame}
        className="h-[60dvh] min-h-60 overflow-auto rounded-lg border border-line bg-surface p-2 aria-disabled:opacity-60"
        aria-disabled={ended ? true : undefined}
      >
        <div ref={place} className="h-full min-w-fit" />
      </div>
      <p ref={leaving} tabIndex={-1} className="mt-1 text-dim text-xs">
        <kbd>Shift+Esc</kbd> leaves the terminal.
      </p>
    </section>
  );
}

function describe(state: State | undefined, lost: boolean, ended: Ended | undefined): string {
  if (ended) return `Ended${ended.reason ? `: ${visible(ended.reason)}` : ""}`;
  if (lost) return "Connection lost, reconnecting…";
  if (!state) return "Connecting…";
  const others = state.watchers > 1 ? ` · ${state.watchers} connected` : "";
  if (state.writing) return `You are writing${others}`;
  return `${state.writer ? `${visible(state.writer)} is writing, you are watching` : "Watching"}${others}`;
}
