import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { EditorState, type Extension, Prec } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { complete, diagnose, place, type Verdict } from "./assistance";
import { signatures } from "./hover";
import type { Language } from "./language";
import { colours, look } from "./look";

/** What the page does with the editor from outside. */
export type Handle = {
  insert: (text: string) => void;
  replace: (text: string) => void;
  goTo: (line: number, column: number) => void;
};
export type Hooks = {
  onChange: (code: string) => void;
  onRun: () => void;
  onFind: () => void;
  onVerdict: (verdict: Verdict | null) => void;
  onReady: (handle: Handle | null) => void;
};
type Props = Hooks & { start: string; language: Language };

/** In a shadow root: there the editor's styles come as style sheets that the content security policy allows. */
export default function Editor({ start, language, ...hooks }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const current = useRef(hooks);
  current.current = hooks;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another `start` comes with another key
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const extensions = [own(() => current.current), ...usual(), ...spoken(language, () => current.current)];
    const view = new EditorView({ root, parent: root, state: EditorState.create({ doc: start, extensions }) });
    current.current.onReady(handleOf(view));
    return () => {
      current.current.onReady(null);
      view.destroy();
    };
  }, [language]);
  return <div ref={host} className="h-full min-h-72" />;
}

/** Before all others: the editor has other uses for some of these keys. */
function own(hooks: () => Hooks): Extension {
  const run = () => {
    hooks().onRun();
    return true;
  };
  const find = () => {
    hooks().onFind();
    return true;
  };
  return Prec.highest(
    keymap.of([
      { key: "Mod-Enter", run, preventDefault: true },
      { key: "Mod-i", run: find, preventDefault: true },
    ]),
  );
}

// Code may be a stranger's: what turns a line around or draws nothing is shown as a mark.
const HIDDEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;

function usual(): Extension[] {
  return [
    lineNumbers(),
    highlightSpecialChars({ addSpecialChars: HIDDEN }),
    history(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": "Code" }),
    syntaxHighlighting(colours),
    keymap.of([
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...historyKeymap,
      ...completionKeymap,
      ...lintKeymap,
      indentWithTab,
    ]),
    look,
  ];
}

function spoken(language: Language, hooks: () => Hooks): Extension[] {
  return [
    language === "python" ? [python(), indentUnit.of("    ")] : javascript({ typescript: true }),
    autocompletion({ override: [complete(language)] }),
    linter(
      diagnose(language, (verdict) => hooks().onVerdict(verdict)),
      { delay: 500 },
    ),
    lintGutter(),
    signatures(language),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) hooks().onChange(update.state.doc.toString());
    }),
  ];
}

function handleOf(view: EditorView): Handle {
  const focused = (at: number) => {
    view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
    view.focus();
  };
  return {
    /** On a line of its own: the one of the cursor if that is empty, else the next. */
    insert: (text) => {
      const line = view.state.doc.lineAt(view.state.selection.main.head);
      const blank = !line.text.trim();
      const at = blank ? line.from : line.to;
      const insert = blank ? text : `\n${/^\s*/.exec(line.text)?.[0] ?? ""}${text}`;
      view.dispatch({ changes: { from: at, to: line.to, insert }, userEvent: "input" });
      focused(at + insert.length);
    },
    replace: (text) => {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, userEvent: "input" });
      focused(text.length);
    },
    goTo: (line, column) => focused(place(view, line, column)),
  };
}
