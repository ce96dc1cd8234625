// Feeds bytes to xterm.js without a display and prints what it shows, cell by cell.
// Standard input: a JSON list of {"cols", "rows", "data"}, the data in Base64. Standard output: a list of screens;
// null for output that xterm.js itself fails on.
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

const load = createRequire(new URL("../../../web/package.json", import.meta.url));
const { Terminal } = load("@xterm/headless");
const { Unicode11Addon } = load("@xterm/addon-unicode11");

const FLAGS = [
  ["isBold", "1"],
  ["isDim", "2"],
  ["isItalic", "3"],
  ["isUnderline", "4"],
  ["isBlink", "5"],
  ["isInverse", "7"],
  ["isInvisible", "8"],
  ["isStrikethrough", "9"],
];

function colour(cell, which) {
  const value = which === "3" ? cell.getFgColor() : cell.getBgColor();
  const name = which === "3" ? "Fg" : "Bg";
  if (cell[`is${name}Default`]()) return "";
  if (cell[`is${name}RGB`]()) return `${which}8;2;${value >> 16};${(value >> 8) & 255};${value & 255}`;
  return `${which}8;5;${value}`;
}

function line(buffer, at, cols) {
  const found = buffer.getLine(at);
  const cells = [];
  for (let x = 0; x < cols; x++) {
    const cell = found.getCell(x);
    const isHalf = cell.getWidth() === 0 && x > 0 && found.getCell(x - 1).getWidth() === 2;
    const chars = isHalf ? "" : cell.getChars() || " ";
    const flags = FLAGS.filter(([method]) => cell[method]()).map(([, code]) => code);
    cells.push([chars, flags.join(";"), colour(cell, "3"), colour(cell, "4")]);
  }
  return cells;
}

async function show({ cols, rows, data }) {
  const terminal = new Terminal({ cols, rows, scrollback: 2000, allowProposedApi: true });
  terminal.loadAddon(new Unicode11Addon());
  terminal.unicode.activeVersion = "11";
  const failure = await new Promise((done) => {
    process.once("uncaughtException", done);
    terminal.write(Buffer.from(data, "base64"), () => done(null));
  });
  process.removeAllListeners("uncaughtException");
  if (failure) return null;
  const { active, normal } = terminal.buffer;
  const screen = [];
  for (let y = 0; y < rows; y++) screen.push(line(active, active.baseY + y, cols));
  const history = [];
  for (let y = 0; y < normal.baseY; y++) history.push(normal.getLine(y).translateToString(true).replace(/ +$/, ""));
  return {
    screen,
    history,
    wrapped: Array.from({ length: rows }, (_, y) => active.getLine(active.baseY + y).isWrapped),
    cursor: [active.cursorX, active.cursorY],
    buffer: active.type,
    modes: terminal.modes,
  };
}

const cases = JSON.parse(await text(process.stdin));
const shown = [];
for (const one of cases) shown.push(await show(one));
process.stdout.write(JSON.stringify(shown));
