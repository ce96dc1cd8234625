import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// The colours are those of the page: custom properties reach into a shadow root.
export const look = EditorView.theme({
  "&": { height: "100%", minHeight: "18rem", fontSize: "13px", color: "var(--ink)", backgroundColor: "transparent" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--ink)", padding: "10px 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--dim)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--raised) 60%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, ::selection": {
    backgroundColor: "var(--accent-soft)",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    border: "1px solid var(--line)",
    borderRadius: "8px",
    boxShadow: "var(--shadow)",
    color: "var(--ink)",
    overflow: "hidden",
    maxWidth: "min(40rem, 90vw)",
  },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--font-mono)", fontSize: "12.5px" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--ink)" },
  ".cm-completionMatchedText": { textDecoration: "none", color: "var(--accent)", fontWeight: "600" },
  ".cm-completionDetail": { color: "var(--dim)", fontStyle: "normal" },
  ".cm-completionInfo": { padding: "8px 10px", fontFamily: "var(--font-sans)", lineHeight: "1.5" },
  ".cm-diagnostic": { padding: "6px 10px", whiteSpace: "pre-wrap", fontFamily: "var(--font-sans)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-signature": { padding: "8px 12px", maxHeight: "18rem", overflowY: "auto" },
  ".cm-signature pre": { margin: "0", whiteSpace: "pre-wrap", fontFamily: "var(--font-mono)", fontSize: "12px" },
  ".cm-signature p": { margin: "6px 0 0", color: "var(--dim)", fontFamily: "var(--font-sans)", fontSize: "12px" },
});

export const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--ok)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
  { tag: [tags.comment], color: "var(--dim)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.className], color: "var(--warn)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], fontWeight: "550" },
  { tag: [tags.invalid], color: "var(--bad)" },
]);
