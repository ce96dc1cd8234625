// What the catalog knows of the code at hand. Where a daemon can't check, the editor stays silent.
import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Diagnostic } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";
import { post } from "@/api/client";
import type { components } from "@/api/schema";
import { visible } from "@/text/visible";
import type { Language } from "./language";

type Schemas = components["schemas"];
export type Finding = Schemas["Diagnostic"];
export type Verdict = Schemas["CheckView"];

const TYPES: Record<string, string> = { value: "constant", field: "property" };

export function complete(language: Language) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    if (!context.explicit && !context.matchBefore(/[.\w$"'({ ]$/)) return null;
    const ending = new AbortController();
    context.addEventListener("abort", () => ending.abort());
    try {
      const asked = { language, code: context.state.doc.toString(), offset: context.pos };
      const { items } = await post("/v1/catalog/complete", asked, ending.signal);
      if (context.aborted || items.length === 0) return null;
      return { from: start(context, items[0]), options: items.map(option), validFor: /^[\w$]*$/ };
    } catch {
      return null;
    }
  };
}

function option(one: Schemas["Completion"]) {
  return {
    label: one.label,
    detail: visible(one.detail),
    info: one.documentation ? visible(one.documentation) : undefined,
    apply: one.insertText,
    type: TYPES[one.kind] ?? one.kind,
  };
}

function start(context: CompletionContext, item: Schemas["Completion"] | undefined): number {
  const word = context.matchBefore(/[\w$]*$/)?.from ?? context.pos;
  if (!item) return word;
  const line = context.state.doc.line(Math.min(Math.max(1, item.replace.line), context.state.doc.lines));
  return Math.min(context.pos, line.from + item.replace.column - 1);
}

/** `onVerdict` also gets what is found, for anyone who lists it: null while that is being asked. */
export function diagnose(language: Language, onVerdict: (verdict: Verdict | null) => void) {
  return async (view: EditorView): Promise<Diagnostic[]> => {
    const doc = view.state.doc;
    const code = doc.toString();
    onVerdict(null);
    try {
      const verdict = code.trim()
        ? await post("/v1/catalog/check", { language, code })
        : { ok: true, diagnostics: [], unavailable: null };
      onVerdict(verdict);
      return verdict.diagnostics.map((one) => marked(view, one));
    } catch {
      onVerdict({ ok: false, diagnostics: [], unavailable: "the daemon did not answer" });
      return [];
    }
  };
}

export function place(view: EditorView, line: number, column: number): number {
  const doc = view.state.doc;
  const found = doc.line(Math.min(Math.max(1, line), doc.lines));
  return Math.min(found.to, found.from + Math.max(0, column - 1));
}

function marked(view: EditorView, one: Finding): Diagnostic {
  const from = place(view, one.line, one.column);
  const to = Math.max(place(view, one.endLine, one.endColumn), Math.min(view.state.doc.length, from + 1));
  const message = visible(one.hint ? `${one.message}\n${one.hint}` : one.message, "\n");
  return { from, to, message, severity: one.severity };
}
