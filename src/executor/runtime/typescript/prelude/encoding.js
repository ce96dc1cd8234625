// TextEncoder and TextDecoder.
const asBytes = (source) => {
  if (source === undefined) return new Uint8Array(0);
  if (source instanceof ArrayBuffer || (typeof SharedArrayBuffer === "function" && source instanceof SharedArrayBuffer)) {
    return new Uint8Array(source);
  }
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  throw new TypeError("expected an ArrayBuffer or a view of one");
};

const utf8Length = (string) => {
  let size = 0;
  for (let i = 0; i < string.length; i++) {
    const code = codePointAt(string, i);
    if (code > 0xffff) i++;
    size += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return size;
};

// Writes whole characters only; returns how many UTF-16 units were read and bytes written.
const encodeInto = (string, bytes) => {
  let written = 0;
  let read = 0;
  for (; read < string.length; read++) {
    const code = codePointAt(string, read);
    const size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (written + size > bytes.length) break;
    if (size === 1) {
      bytes[written++] = code;
      continue;
    }
    bytes[written++] = (size === 2 ? 0xc0 : size === 3 ? 0xe0 : 0xf0) | (code >> (6 * (size - 1)));
    for (let shift = size - 2; shift >= 0; shift--) bytes[written++] = 0x80 | ((code >> (6 * shift)) & 63);
    if (size === 4) read++;
  }
  return { read, written };
};

class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(string = "") {
    const source = toWellFormed(text(string));
    const bytes = new Uint8Array(utf8Length(source));
    encodeInto(source, bytes);
    return bytes;
  }
  encodeInto(string, bytes) { return encodeInto(toWellFormed(text(string)), bytes); }
}

// How many bytes a sequence that starts with `byte` has, and the least and most its second byte may be.
const sequence = (byte) =>
  byte >= 0xc2 && byte <= 0xdf ? [2, 0x80, 0xbf]
  : byte === 0xe0 ? [3, 0xa0, 0xbf]
  : byte === 0xed ? [3, 0x80, 0x9f]
  : byte >= 0xe1 && byte <= 0xef ? [3, 0x80, 0xbf]
  : byte === 0xf0 ? [4, 0x90, 0xbf]
  : byte >= 0xf1 && byte <= 0xf3 ? [4, 0x80, 0xbf]
  : byte === 0xf4 ? [4, 0x80, 0x8f]
  : null;

// Decodes as much as is complete; `rest` is how many bytes at the end may still become a character.
const decodeUtf8 = (bytes, fatal) => {
  let out = "";
  let i = 0;
  while (i < bytes.length) {
    const byte = bytes[i];
    if (byte < 0x80) {
      out += fromCharCode(byte);
      i++;
      continue;
    }
    const shape = sequence(byte);
    let used = 1;
    let code = 0;
    if (shape !== null) {
      code = byte & (0x7f >> shape[0]);
      while (used < shape[0] && i + used < bytes.length) {
        const next = bytes[i + used];
        if (next < (used === 1 ? shape[1] : 0x80) || next > (used === 1 ? shape[2] : 0xbf)) break;
        code = (code << 6) | (next & 63);
        used++;
      }
      if (used === shape[0]) {
        out += fromCodePoint(code);
        i += used;
        continue;
      }
      if (i + used === bytes.length) return { out, rest: used };
    }
    if (fatal) throw new TypeError("the bytes are not valid UTF-8");
    out += "\ufffd";
    i += used;
  }
  return { out, rest: 0 };
};

const UNITS = { __proto__: null, "utf-8": 1, latin1: 1, "utf-16le": 2 };
const LABELS = {
  __proto__: null, "utf-8": "utf-8", utf8: "utf-8", "unicode-1-1-utf-8": "utf-8", "utf-16le": "utf-16le", "utf-16": "utf-16le",
  latin1: "latin1", "iso-8859-1": "latin1", ascii: "latin1", "us-ascii": "latin1",
};

class TextDecoder {
  #encoding;
  #kept = new Uint8Array(0);
  constructor(label = "utf-8", options = {}) {
    this.#encoding = LABELS[toLowerCase(text(label)).trim()];
    if (this.#encoding === undefined) throw new RangeError("unknown encoding: " + label);
    this.fatal = Boolean(options.fatal);
    this.ignoreBOM = Boolean(options.ignoreBOM);
  }
  get encoding() { return this.#encoding === "latin1" ? "windows-1252" : this.#encoding; }
  decode(source, options = {}) {
    const given = asBytes(source);
    const bytes = new Uint8Array(this.#kept.length + given.length);
    bytes.set(this.#kept);
    bytes.set(given, this.#kept.length);
    const { out, rest } = this.#units(bytes);
    this.#kept = options.stream ? bytes.slice(bytes.length - rest) : new Uint8Array(0);
    if (rest > 0 && !options.stream) {
      if (this.fatal) throw new TypeError("the bytes end within a character");
      return this.#unmarked(out + "\ufffd");
    }
    return this.#unmarked(out);
  }
  #units(bytes) {
    if (this.#encoding === "utf-8") return decodeUtf8(bytes, this.fatal);
    const width = UNITS[this.#encoding];
    let out = "";
    for (let i = 0; i + width <= bytes.length; i += width) {
      out += fromCharCode(width === 2 ? bytes[i] | (bytes[i + 1] << 8) : bytes[i]);
    }
    return { out, rest: bytes.length % width };
  }
  #unmarked(out) {
    return !this.ignoreBOM && this.#encoding !== "latin1" && charCodeAt(out, 0) === 0xfeff ? slice(out, 1) : out;
  }
}
expose("TextEncoder", TextEncoder);
expose("TextDecoder", TextDecoder);
