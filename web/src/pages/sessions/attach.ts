import { chosenWorkspace, post, query } from "@/api/client";
import { parse, write as writeJson } from "@/api/json";
import { path } from "./queries";

export type State = {
  cols: number;
  rows: number;
  writing: boolean;
  writer: string | null;
  watchers: number;
};
export type Ended = { reason: string; code?: number | null };
export type Size = { cols: number; rows: number };
type Message =
  | ({ type: "screen" | "writer" } & State)
  | ({ type: "ended" } & Ended)
  | { type: "error"; message: string }
  | { type: "resized" };
export type Listener = {
  /** A whole screen follows: what is shown goes. */
  screen: (state: State) => void;
  output: (bytes: Uint8Array) => void;
  writer: (state: State) => void;
  lost: () => void;
  problem: (message: string) => void;
  ended: (ended: Ended) => void;
};

const PAUSE = 1000;
const LONGEST_PAUSE = 15_000;
const PIECE = 32 * 1024; // of what is pasted; the server refuses long messages
const REFUSED = 1008;

/** One connection to a terminal, made again when it breaks. Each needs a ticket of its own. */
export class Attachment {
  private socket: WebSocket | undefined;
  private closed = false;
  private writing = false;
  private pause = PAUSE;
  private timer = 0;
  private readonly address: `/v1/sessions/${string}/terminals/${string}`;

  constructor(
    session: string,
    terminal: string,
    private readonly size: () => Size | undefined,
    private readonly listener: Listener,
  ) {
    this.address = `${path(session)}/terminals/${encodeURIComponent(terminal)}`;
    void this.connect("if_free");
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  send(text: string): void {
    this.sendBytes(new TextEncoder().encode(text));
  }

  sendBytes(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.writing || this.socket?.readyState !== WebSocket.OPEN) return;
    for (let at = 0; at < bytes.length; at += PIECE) this.socket.send(bytes.slice(at, at + PIECE));
  }

  resize(size: Size): void {
    if (this.writing) this.say({ type: "resize", ...size });
  }

  takeOver(): void {
    this.say({ type: "take_over", ...this.size() });
  }

  private say(message: Record<string, unknown>): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(writeJson(message));
  }

  private async connect(write: string): Promise<void> {
    let ticket: string;
    try {
      ticket = (await post(`${this.address}/ticket`)).ticket;
    } catch (error) {
      const status = (error as { status?: number }).status;
      if (status === 404) this.end({ reason: "" });
      else this.again();
      return;
    }
    if (this.closed) return;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const asked = query({ workspace: chosenWorkspace() });
    const socket = new WebSocket(`${scheme}://${location.host}${this.address}/socket${asked}`);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => socket.send(writeJson({ type: "attach", ticket, write, ...this.size() }));
    socket.onmessage = ({ data }) => this.receive(data);
    socket.onclose = ({ code, reason }) => {
      if (this.socket !== socket || this.closed) return;
      if (code === REFUSED) this.end({ reason: reason || "the connection was refused" });
      else this.again();
    };
  }

  private receive(data: ArrayBuffer | string): void {
    if (typeof data !== "string") {
      this.listener.output(new Uint8Array(data));
      return;
    }
    const message = parse(data) as Message;
    if (message.type === "screen" || message.type === "writer") {
      this.pause = PAUSE;
      this.writing = message.writing;
      this.listener[message.type](message);
    } else if (message.type === "ended") this.end(message);
    else if (message.type === "error") this.listener.problem(message.message);
  }

  private end(ended: Ended): void {
    this.closed = true;
    this.listener.ended(ended);
  }

  private again(): void {
    if (this.closed) return;
    this.listener.lost();
    const write = this.writing ? "take_over" : "no";
    this.timer = window.setTimeout(() => void this.connect(write), this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
  }
}
