// What the other engine brings along and a bare realm of V8 does not.
class DOMException extends Error {
  #name;
  constructor(message = "", name = "Error") {
    super(message);
    this.#name = text(name);
  }
  get name() { return this.#name; }
  get code() { return this.#name === "DataCloneError" ? 25 : this.#name === "InvalidCharacterError" ? 5 : 0; }
}
expose("DOMException", DOMException);

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const noCharacter = (what) => new DOMException(what, "InvalidCharacterError");
expose("btoa", function btoa(data) {
  const given = text(data);
  let out = "";
  for (let i = 0; i < given.length; i += 3) {
    const [a, b, c] = [given.charCodeAt(i), given.charCodeAt(i + 1), given.charCodeAt(i + 2)];
    if (a > 255 || b > 255 || c > 255) throw noCharacter("btoa takes characters up to U+00FF only");
    out += DIGITS[a >> 2] + DIGITS[((a & 3) << 4) | (b >> 4)];
    out += i + 1 < given.length ? DIGITS[((b & 15) << 2) | (c >> 6)] : "=";
    out += i + 2 < given.length ? DIGITS[c & 63] : "=";
  }
  return out;
});
expose("atob", function atob(data) {
  let given = text(data).replace(/[\t\n\f\r ]/g, "");
  if (given.length % 4 === 0) given = given.replace(/==?$/, "");
  if (given.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(given)) throw noCharacter("atob: this is not base64");
  let [out, bits, held] = ["", 0, 0];
  for (let i = 0; i < given.length; i++) {
    held = ((held << 6) | DIGITS.indexOf(given[i])) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += fromCharCode((held >> bits) & 255);
    }
  }
  return out;
});
