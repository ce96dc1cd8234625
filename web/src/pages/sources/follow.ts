// Long work that says how far it is: server-sent events, the last of them the answer or the problem.

import { useState } from "react";
import { headers, Problem, readProblem, unreachable } from "@/api/client";
import { parse, write } from "@/api/json";

/** POST, and hear of the progress until the answer. The work continues if the page is left. */
export async function follow<T>(path: string, body: unknown, progress: (text: string) => void): Promise<T> {
  const answer = await fetch(path, {
    method: "POST",
    headers: headers({ "Content-Type": "application/json", Accept: "text/event-stream" }),
    body: write(body),
    credentials: "same-origin",
  }).catch(() => {
    throw unreachable();
  });
  if (!answer.ok || !answer.body) throw new Problem(answer.status, await readProblem(answer));
  const reader = answer.body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done)
      throw new Problem(0, {
        detail: "the response ended early",
        code: "unreachable",
        hint: "check the status of the source",
      });
    const parts = (rest + value).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const told = heard<T>(part, progress);
      if (told) return told.value;
    }
  }
}

function heard<T>(frame: string, progress: (text: string) => void): { value: T } | null {
  const type = frame.match(/^event: (.*)$/m)?.[1];
  const data = parse(frame.match(/^data: (.*)$/m)?.[1] ?? "null") as Record<string, unknown>;
  if (type === "progress") progress(String(data.text));
  if (type === "problem") throw new Problem(Number(data.status), data);
  return type === "done" ? { value: data as T } : null;
}

export function useProgress() {
  const [text, setText] = useState("");
  return { text, say: setText, clear: () => setText("") };
}
