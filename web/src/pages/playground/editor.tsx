import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { python } from "@codemirror/lang-python";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { linter, lintKeymap } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { complete, diagnose } from "./assistance";
import { colours, look } from "./look";

export type Language = "typescript" | "python";
type Props = { start: string; language: Language; onChange: (code: string) => void; onRun: () => void };

/** In a shadow root: there the editor's styles come as style sheets that the content security policy allows. */
export default function Editor({ start, language, onChange, onRun }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const current = useRef({ onChange, onRun });
  current.current = { onChange, onRun };
  // biome-ignore lint/correctness/useExhaustiveDependencies: another `start` comes with another key
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const run = () => {
      current.current.onRun();
      return true;
    };
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: start,
        extensions: [
          keymap.of([{ key: "Mod-Enter", run, preventDefault: true }]),
          lineNumbers(),
          history(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "Code" }),
          language === "python" ? python() : javascript({ typescript: true }),
          syntaxHighlighting(colours),
          autocompletion({ override: [complete(language)] }),
          linter(diagnose(language), { delay: 600 }),
          keymap.of([
            ...closeBracketsKeymap,
            ...defaultKeymap,
            ...historyKeymap,
            ...completionKeymap,
            ...lintKeymap,
            indentWithTab,
          ]),
          look,
          EditorView.updateListener.of((update) => {
            if (update.docChanged) current.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    return () => view.destroy();
  }, [language]);
  return <div ref={host} className="h-full min-h-72" />;
}
