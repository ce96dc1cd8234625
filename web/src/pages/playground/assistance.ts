// What the catalog knows of the code at hand. Where a daemon can't check, the editor stays silent.
import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Diagnostic } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";
import { post } from "@/api/client";
import type { Language } from "./editor";

type Place = { line: number; column: number; endLine: number; endColumn: number };
type Completion = {
  label: string;
  kind: string;
  detail: string;
  documentation: string;
  insertText: string;
  replace: Place;
};
type Verdict = {
  diagnostics: {
    line: number;
    column: number;
    endLine?: number;
    endColumn?: number;
    message: string;
    severity?: string;
    hint?: string;
  }[];
};

export function complete(language: Language) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const word = context.matchBefore(/[\w$]*$/);
    if (!context.explicit && !context.matchBefore(/[.\w$"'({]$/)) return null;
    try {
      const code = context.state.doc.toString();
      const { items } = await post<{ items: Completion[] }>("/v1/catalog/complete", {
        language,
        code,
        offset: context.pos,
      });
      if (context.aborted || items.length === 0) return null;
      return {
        from: start(context, items[0]) ?? word?.from ?? context.pos,
        options: items.map((one) => ({
          label: one.label,
          detail: one.detail,
          info: one.documentation || undefined,
          apply: one.insertText,
          type: one.kind,
        })),
        validFor: /^[\w$]*$/,
      };
    } catch {
      return null;
    }
  };
}

function start(context: CompletionContext, item: Completion | undefined): number | undefined {
  if (!item) return undefined;
  const line = context.state.doc.line(Math.min(Math.max(1, item.replace.line), context.state.doc.lines));
  return Math.min(context.pos, line.from + item.replace.column - 1);
}

export function diagnose(language: Language) {
  return async (view: EditorView): Promise<Diagnostic[]> => {
    const doc = view.state.doc;
    const code = doc.toString();
    if (!code.trim()) return [];
    try {
      const { diagnostics } = await post<Verdict>("/v1/catalog/check", { language, code });
      const at = (line: number, column: number) => {
        const found = doc.line(Math.min(Math.max(1, line), doc.lines));
        return Math.min(found.to, found.from + Math.max(0, column - 1));
      };
      return diagnostics.map((one) => {
        const from = at(one.line, one.column);
        const to = one.endLine && one.endColumn ? at(one.endLine, one.endColumn) : Math.min(doc.length, from + 1);
        const message = one.hint ? `${one.message}\n${one.hint}` : one.message;
        return { from, to: Math.max(from, to), message, severity: one.severity === "warning" ? "warning" : "error" };
      });
    } catch {
      return [];
    }
  };
}
