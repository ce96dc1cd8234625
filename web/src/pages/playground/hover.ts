// The signature of the tool under the pointer.

import { type EditorView, hoverTooltip, type Tooltip } from "@codemirror/view";
import { describeTool } from "@/api/queries";
import type { Tool } from "@/api/types";
import { visible } from "@/text/visible";
import type { Language } from "./language";

const CHAIN = /\btools(?:\s*\??\.\s*[A-Za-z_$][\w$]*|\[\s*(?:"[^"\n]*"|'[^'\n]*')\s*\])+/g;
const PART = /\.\s*([A-Za-z_$][\w$]*)|\[\s*["']([^"'\n]*)["']\s*\]/g;

type Named = { path: string; from: number; to: number };

/** The path up to the name that is pointed at. */
export function pathAt(line: string, column: number): Named | null {
  for (const chain of line.matchAll(CHAIN)) {
    const from = chain.index;
    if (column < from || column > from + chain[0].length) continue;
    const parts: string[] = [];
    for (const part of chain[0].matchAll(PART)) {
      parts.push(part[1] ?? part[2] ?? "");
      const to = from + part.index + part[0].length;
      if (column <= to) return { path: parts.join("."), from, to };
    }
  }
  return null;
}

export function signatures(language: Language) {
  const known = new Map<string, Promise<Tool | null>>();
  const describe = (path: string) => {
    const asked = known.get(path) ?? describeTool(path, { language, budget: 600 }).catch(() => null);
    known.set(path, asked);
    return asked;
  };
  return hoverTooltip(async (view: EditorView, pos: number): Promise<Tooltip | null> => {
    const line = view.state.doc.lineAt(pos);
    const named = pathAt(line.text, pos - line.from);
    const tool = named && (await describe(named.path));
    if (!named || !tool) return null;
    return {
      pos: line.from + named.from,
      end: line.from + named.to,
      above: true,
      create: () => ({ dom: shown(tool) }),
    };
  });
}

/** Everything in it comes from a source, so all of it is text. */
function shown(tool: Tool): HTMLElement {
  const box = document.createElement("div");
  box.className = "cm-signature";
  const code = box.appendChild(document.createElement("pre"));
  code.textContent = visible(tool.signature, "\n");
  const about = box.appendChild(document.createElement("p"));
  about.textContent = `${tool.effect} · ${visible(tool.description.slice(0, 400), "\n")}`;
  return box;
}
