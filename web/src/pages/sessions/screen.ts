import { FitAddon } from "@xterm/addon-fit";
import { Unicode11Addon } from "@xterm/addon-unicode11";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";

// As the server's model counts the cells of a character.
const UNICODE = "11";
const SCROLLBACK = 2000;

export type Screen = { terminal: Terminal; fit: () => { cols: number; rows: number } | undefined; close: () => void };

/** A terminal in an element. Loaded when the first one is shown. */
export function openScreen(element: HTMLElement): Screen {
  const terminal = new Terminal({
    allowProposedApi: true,
    fontFamily: '"Geist Mono Variable", ui-monospace, "SFMono-Regular", Menlo, monospace',
    fontSize: 13,
    scrollback: SCROLLBACK,
    theme: colours(),
    // What a program writes must neither read nor change anything outside the grid; the server drops it too.
    linkHandler: { activate: () => undefined },
    windowOptions: {},
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.loadAddon(new Unicode11Addon());
  terminal.unicode.activeVersion = UNICODE;
  withoutStyleElements(() => terminal.open(element));
  styleByRule(terminal);
  const themes = new MutationObserver(() => {
    terminal.options.theme = colours();
  });
  themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return {
    terminal,
    fit: () => fit.proposeDimensions(),
    close: () => {
      themes.disconnect();
      terminal.dispose();
    },
  };
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  const named = (name: string) => style.getPropertyValue(name).trim();
  return {
    background: named("--surface"),
    foreground: named("--ink"),
    cursor: named("--accent"),
    cursorAccent: named("--surface"),
    selectionBackground: named("--accent-soft"),
    ...(document.documentElement.dataset.theme === "dark" ? DARK : LIGHT),
  };
}

// Each is readable on its surface.
const LIGHT = {
  black: "#17181f",
  red: "#b42532",
  green: "#17703f",
  yellow: "#8a5200",
  blue: "#3440c4",
  magenta: "#8b2a8f",
  cyan: "#0b6a78",
  white: "#565a69",
  brightBlack: "#6b6f7f",
  brightRed: "#c62f3d",
  brightGreen: "#1b7f48",
  brightYellow: "#9a5d00",
  brightBlue: "#4650dd",
  brightMagenta: "#9c35a1",
  brightCyan: "#0f7585",
  brightWhite: "#17181f",
};
const DARK = {
  black: "#2a2c36",
  red: "#ff8d96",
  green: "#6bd99a",
  yellow: "#f0b65a",
  blue: "#99a2ff",
  magenta: "#e3a0e6",
  cyan: "#74d3e0",
  white: "#c9ccd8",
  brightBlack: "#8a8ea0",
  brightRed: "#ffabb1",
  brightGreen: "#8fe7b5",
  brightYellow: "#f7cb85",
  brightBlue: "#b7bdff",
  brightMagenta: "#eebbf0",
  brightCyan: "#97e2ec",
  brightWhite: "#eceef4",
};

/** xterm.js writes `<style>` elements, which this page forbids. Style sheets made by a script it does not. */
function withoutStyleElements(act: () => void): void {
  const create = document.createElement.bind(document);
  const make = (name: string, options?: ElementCreationOptions) =>
    name === "style" ? sheetElement(create("span")) : create(name, options);
  document.createElement = make as typeof document.createElement;
  try {
    act();
  } finally {
    Reflect.deleteProperty(document, "createElement"); // its prototype has it
  }
}

function sheetElement(element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, "textContent", { set: (css: string) => sheet.replaceSync(css) });
  const remove = element.remove.bind(element);
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    remove();
  };
  return element;
}

type Styled = { style: CSSStyleDeclaration };
type Inner = { _renderService: { _renderer: { value: { _rowFactory: { _addStyle: unknown } } } } };

/** Nor may it set `style` attributes, as it does for true colours; the properties of an element may be set. */
function styleByRule(terminal: Terminal): void {
  const { _renderService } = (terminal as unknown as { _core: Inner })._core;
  _renderService._renderer.value._rowFactory._addStyle = (element: Styled, css: string) => {
    element.style.cssText += css;
  };
}
