// Hosts of URLs, and the percent-encoding that all parts of a URL share. Domain names are lower-cased and put into
// Punycode, without the full Unicode mapping tables.
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const plainDecoder = new TextDecoder("utf-8", { ignoreBOM: true });
const upperHex = (byte) => "%" + "0123456789ABCDEF"[byte >> 4] + "0123456789ABCDEF"[byte & 15];

const percentEncode = (string, set) => {
  let out = "";
  for (const character of string) {
    const code = character.codePointAt(0);
    if (code > 0x20 && code < 0x7f && !set.includes(character)) out += character;
    else for (const byte of encoder.encode(character)) out += byte === 0x20 && !set.includes(" ") ? " " : upperHex(byte);
  }
  return out;
};

const percentDecode = (string, through = decoder) => {
  if (!string.includes("%")) return string;
  const bytes = encoder.encode(string);
  const out = new Uint8Array(bytes.length);
  let size = 0;
  for (let i = 0; i < bytes.length; i++) {
    const digits = bytes[i] === 37 ? fromCharCode(bytes[i + 1] ?? 0, bytes[i + 2] ?? 0) : "";
    if (/^[0-9a-f]{2}$/i.test(digits)) {
      out[size++] = parseInt(digits, 16);
      i += 2;
    } else {
      out[size++] = bytes[i];
    }
  }
  return through.decode(out.subarray(0, size));
};

const punycode = (label) => {
  const points = [...label].map((character) => character.codePointAt(0));
  let out = points.filter((point) => point < 128).map((point) => fromCharCode(point)).join("");
  const basic = out.length;
  if (basic === points.length) return label;
  if (basic > 0) out += "-";
  let [n, delta, bias, handled] = [128, 0, 72, basic];
  const adapt = (change, count, first) => {
    let k = 0;
    change = floor(first ? change / 700 : change / 2);
    for (change += floor(change / count); change > 455; k += 36) change = floor(change / 35);
    return k + floor((36 * change) / (change + 38));
  };
  const digit = (value) => fromCharCode(value < 26 ? value + 97 : value + 22);
  while (handled < points.length) {
    const next = points.reduce((least, point) => (point >= n && point < least ? point : least), 0x10ffff);
    delta += (next - n) * (handled + 1);
    n = next;
    for (const point of points) {
      if (point < n) delta++;
      if (point !== n) continue;
      let q = delta;
      for (let k = 36; ; k += 36) {
        const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (q < t) break;
        out += digit(t + ((q - t) % (36 - t)));
        q = floor((q - t) / (36 - t));
      }
      out += digit(q);
      bias = adapt(delta, handled + 1, handled === basic);
      delta = 0;
      handled++;
    }
    delta++;
    n++;
  }
  return "xn--" + out;
};

const ipv4Number = (part) => {
  if (/^0x[0-9a-f]*$/i.test(part)) return part.length === 2 ? 0 : parseInt(part, 16);
  if (/^0[0-7]*$/.test(part)) return parseInt(part, 8);
  return /^[0-9]+$/.test(part) ? parseInt(part, 10) : NaN;
};

const ipv4 = (host) => {
  const parts = host.split(".");
  if (parts.at(-1) === "" && parts.length > 1) parts.pop();
  const last = parts.at(-1);
  if (!/^[0-9]+$/.test(last) && !/^0x[0-9a-f]*$/i.test(last)) return null;
  const numbers = parts.map(ipv4Number);
  const end = numbers.pop();
  if (parts.length > 4 || numbers.some((n) => !(n <= 255)) || !(end < 256 ** (4 - numbers.length))) return undefined;
  let address = end;
  numbers.forEach((n, i) => { address += n * 256 ** (3 - i); });
  return [24, 16, 8, 0].map((shift) => floor(address / 2 ** shift) % 256).join(".");
};

const ipv6 = (text6) => {
  const tail = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text6);
  if (tail !== null) {
    const [a, b, c, d] = tail.slice(2).map(Number);
    if (max(a, b, c, d) > 255) return undefined;
    text6 = tail[1] + (a * 256 + b).toString(16) + ":" + (c * 256 + d).toString(16);
  }
  const halves = text6.split("::");
  const groups = (half) => (half === "" ? [] : half.split(":"));
  const [head, rest] = [groups(halves[0]), halves.length === 2 ? groups(halves[1]) : []];
  const count = head.length + rest.length;
  if (halves.length > 2 || (halves.length === 2 ? count > 7 : count !== 8)) return undefined;
  if (![...head, ...rest].every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  const all = [...head, ...Array(8 - count).fill("0"), ...rest].map((group) => parseInt(group, 16));
  let [best, from] = [1, -1];
  for (let i = 0; i < 8; i++) {
    let run = 0;
    while (i + run < 8 && all[i + run] === 0) run++;
    if (run > best) [best, from] = [run, i];
  }
  const shown6 = (part) => part.map((n) => n.toString(16)).join(":");
  return from < 0 ? shown6(all) : shown6(all.slice(0, from)) + "::" + shown6(all.slice(from + best));
};

// The host as it is written in a URL; undefined when it is none.
const hostOf = (given, special) => {
  if (given.startsWith("[")) {
    const address = given.endsWith("]") ? ipv6(given.slice(1, -1)) : undefined;
    return address === undefined ? undefined : "[" + address + "]";
  }
  if (!special) return /[\0\t\n\r #/:<>?@[\\\]^|]/.test(given) ? undefined : percentEncode(given, "");
  const host = percentDecode(given).normalize("NFC").toLowerCase().split(/[.\u3002\uff0e\uff61]/).map(punycode).join(".");
  if (host === "" || /[\0-\x20"#%/:<>?@[\\\]^`{|}\x7f]/.test(host)) return undefined;
  const address = ipv4(host);
  return address === null ? host : address;
};
