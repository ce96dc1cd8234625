// URL and URLSearchParams after the WHATWG standard.
const SPECIAL = { __proto__: null, "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };
const isSpecial = (protocol) => SPECIAL[protocol] !== undefined;
const FRAGMENT = ' "<>`';
const QUERY = ' "#<>';
const SPECIAL_QUERY = QUERY + "'";
const PATH = ' "#<>?^`{}';
const USERINFO = PATH + "/:;=@[\\]|";
const segmentsOf = (path, special, onto) => {
  const out = onto;
  const parts = path.split(special ? /[/\\]/ : "/");
  parts.forEach((part, i) => {
    const plain = part.replace(/%2e/gi, ".");
    const last = i === parts.length - 1;
    if (plain === "..") {
      out.pop();
      if (last) out.push("");
    } else if (plain === ".") {
      if (last) out.push("");
    } else {
      out.push(percentEncode(part, PATH));
    }
  });
  return out;
};

const authority = (record, given) => {
  const special = isSpecial(record.protocol);
  const at = given.lastIndexOf("@");
  if (at >= 0) {
    const [user, ...rest] = given.slice(0, at).split(":");
    record.username = percentEncode(user, USERINFO);
    record.password = percentEncode(rest.join(":"), USERINFO);
  }
  const [, name, , port] = /^(\[[^\]]*\]|[^:]*)(:(.*))?$/s.exec(given.slice(at + 1)) ?? [];
  if (name === undefined || (port && !/^[0-9]+$/.test(port)) || number(port ?? 0) > 65535) return false;
  if (name === "" && (special || at >= 0 || port)) return false;
  record.host = name === "" ? "" : hostOf(name, special);
  record.port = port ? text(number(port)) : "";
  if (record.port === SPECIAL[record.protocol]) record.port = "";
  return record.host !== undefined;
};

const parseUrl = (input, base) => {
  let rest = text(input).replace(/^[\0-\x20]+|[\0-\x20]+$/g, "").replace(/[\t\n\r]/g, "");
  const record = { protocol: "", username: "", password: "", host: null, port: "", path: [], search: "", hash: "" };
  const cut = (mark) => {
    const at = rest.indexOf(mark);
    const found = at < 0 ? null : rest.slice(at + 1);
    if (at >= 0) rest = rest.slice(0, at);
    return found;
  };
  const hash = cut("#");
  const query = cut("?");
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(rest)?.[0].toLowerCase();
  const inherits = scheme === undefined || (base !== null && scheme === base.protocol && isSpecial(scheme)
    && !/^[/\\]/.test(rest.slice(scheme.length)) && scheme !== "file:");
  if (inherits && base === null) return null;
  record.protocol = inherits ? base.protocol : scheme;
  if (scheme !== undefined) rest = rest.slice(scheme.length);
  const special = isSpecial(record.protocol);
  if (hash !== null && hash !== "") record.hash = "#" + percentEncode(hash, FRAGMENT);
  if (query !== null && query !== "") record.search = "?" + percentEncode(query, special ? SPECIAL_QUERY : QUERY);
  const slash = special ? /^[/\\]/ : /^\//;
  if (inherits ? resolve(record, base, rest, query, slash) : absolute(record, rest, slash)) return record;
  return null;
};

const withAuthority = (record, rest) => {
  const special = isSpecial(record.protocol);
  const end = rest.search(special ? /[/\\]/ : /\//);
  const given = end < 0 ? rest : rest.slice(0, end);
  if (record.protocol === "file:") {
    record.host = given === "" || given.toLowerCase() === "localhost" ? "" : hostOf(given, true);
    if (record.host === undefined) return false;
  } else if (!authority(record, given)) {
    return false;
  }
  const path = end < 0 ? "" : rest.slice(end + 1);
  record.path = end < 0 && !special ? [] : segmentsOf(path, special, []);
  return true;
};

const absolute = (record, rest, slash) => {
  if (record.protocol === "file:") {
    if (/^[/\\]{2}/.test(rest)) return withAuthority(record, rest.slice(2));
    record.host = "";
    record.path = segmentsOf(rest.replace(slash, ""), true, []);
    return true;
  }
  if (isSpecial(record.protocol)) return withAuthority(record, rest.replace(/^[/\\]+/, ""));
  if (rest.startsWith("//")) return withAuthority(record, rest.slice(2));
  if (rest.startsWith("/")) record.path = segmentsOf(rest.slice(1), false, []);
  else record.path = percentEncode(rest, "").replaceAll("%20", " ");
  return true;
};

const resolve = (record, base, rest, query, slash) => {
  if (typeof base.path === "string") {
    record.path = base.path;
    record.search = base.search;
    return rest === "" && query === null;
  }
  if (slash.test(rest) && slash.test(rest.slice(1))) return withAuthority(record, rest.slice(2));
  const { username, password, host, port } = base;
  Object.assign(record, { username, password, host, port });
  const special = isSpecial(record.protocol);
  if (slash.test(rest)) {
    record.path = segmentsOf(rest.slice(1), special, []);
  } else if (rest === "") {
    record.path = [...base.path];
    if (query === null) record.search = base.search;
  } else {
    record.path = segmentsOf(rest, special, base.path.slice(0, -1));
  }
  return true;
};

const pathname = (record) => (typeof record.path === "string" ? record.path : record.path.map((part) => "/" + part).join(""));
const hostText = (record) => (record.host ?? "") + (record.port === "" ? "" : ":" + record.port);
const hrefOf = (record) => {
  const user = record.username + (record.password === "" ? "" : ":" + record.password);
  const origin = record.host === null ? "" : "//" + (user === "" ? "" : user + "@") + hostText(record);
  const path = pathname(record);
  return record.protocol + origin + (record.host === null && path.startsWith("//") ? "/." : "") + path + record.search + record.hash;
};

class URLSearchParams {
  #list = [];
  #changed = null;
  constructor(init = "") {
    if (typeof init === "object" && init !== null && typeof init[Symbol.iterator] === "function") {
      for (const pair of init) {
        const [name, value, ...more] = pair;
        if (value === undefined || more.length > 0) throw new TypeError("each pair must be a name and a value");
        this.#list.push([text(name), text(value)]);
      }
    } else if (typeof init === "object" && init !== null) {
      for (const name of objectKeys(init)) this.#list.push([name, text(init[name])]);
    } else {
      this.#read(text(init));
    }
  }
  static linked(search, changed) {
    const params = new URLSearchParams(search);
    params.#changed = changed;
    return params;
  }
  static reread(params, search) {
    params.#read(search);
  }
  #read(search) {
    const decoded = (part) => percentDecode(part.replaceAll("+", " "), plainDecoder);
    this.#list = search.replace(/^\?/, "").split("&").filter((part) => part !== "").map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [decoded(part), ""] : [decoded(part.slice(0, at)), decoded(part.slice(at + 1))];
    });
  }
  #change(list) {
    this.#list = list;
    this.#changed?.(this.toString());
  }
  get size() { return this.#list.length; }
  toJSON() { return this.toString(); } // else a result would have nothing of it
  append(name, value) { this.#change([...this.#list, [text(name), text(value)]]); }
  delete(name, value) {
    this.#change(this.#list.filter((pair) => pair[0] !== text(name) || (value !== undefined && pair[1] !== text(value))));
  }
  get(name) { return this.#list.find((pair) => pair[0] === text(name))?.[1] ?? null; }
  getAll(name) { return this.#list.filter((pair) => pair[0] === text(name)).map((pair) => pair[1]); }
  has(name, value) {
    return this.#list.some((pair) => pair[0] === text(name) && (value === undefined || pair[1] === text(value)));
  }
  set(name, value) {
    const at = this.#list.findIndex((pair) => pair[0] === text(name));
    if (at < 0) return this.append(name, value);
    this.#change(this.#list.flatMap((pair, i) => (i === at ? [[text(name), text(value)]] : pair[0] === text(name) ? [] : [pair])));
  }
  sort() { this.#change([...this.#list].sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0))); }
  forEach(callback, self) { for (const [name, value] of this) apply(callback, self, [value, name, this]); }
  *entries() { for (let i = 0; i < this.#list.length; i++) yield [...this.#list[i]]; }
  *keys() { for (const [name] of this) yield name; }
  *values() { for (const [, value] of this) yield value; }
  [Symbol.iterator]() { return this.entries(); }
  toString() {
    const encoded = (part) => [...encoder.encode(part)].map((byte) => {
      const character = fromCharCode(byte);
      return byte === 32 ? "+" : /[A-Za-z0-9*\-._]/.test(character) ? character : upperHex(byte);
    }).join("");
    return this.#list.map((pair) => encoded(pair[0]) + "=" + encoded(pair[1])).join("&");
  }
  get [Symbol.toStringTag]() { return "URLSearchParams"; }
}
const { linked, reread } = URLSearchParams;
delete URLSearchParams.linked;
delete URLSearchParams.reread;

class URL {
  #record;
  #params = null;
  constructor(input, base = undefined) {
    const from = base === undefined ? null : parseUrl(base, null);
    const record = base !== undefined && from === null ? null : parseUrl(input, from);
    if (record === null) throw new TypeError("Invalid URL: " + input + (base === undefined ? "" : " (base: " + base + ")"));
    this.#record = record;
  }
  static parse(input, base) {
    try {
      return new URL(input, base);
    } catch {
      return null;
    }
  }
  static canParse(input, base) { return URL.parse(input, base) !== null; }
  #refresh() { if (this.#params !== null) reread(this.#params, this.#record.search); }
  get href() { return hrefOf(this.#record); }
  set href(value) {
    const record = parseUrl(value, null);
    if (record === null) throw new TypeError("Invalid URL: " + value);
    this.#record = record;
    this.#refresh();
  }
  get origin() {
    const { protocol } = this.#record;
    return isSpecial(protocol) && protocol !== "file:" ? protocol + "//" + this.host : "null";
  }
  get protocol() { return this.#record.protocol; }
  set protocol(value) {
    const scheme = toLowerCase(text(value)).replace(/:.*$/s, "") + ":";
    if (/^[a-z][a-z0-9+.-]*:$/.test(scheme) && isSpecial(scheme) === isSpecial(this.#record.protocol)) {
      this.#record.protocol = scheme;
      if (this.#record.port === SPECIAL[scheme]) this.#record.port = "";
    }
  }
  get username() { return this.#record.username; }
  set username(value) { if (this.#record.host) this.#record.username = percentEncode(text(value), USERINFO); }
  get password() { return this.#record.password; }
  set password(value) { if (this.#record.host) this.#record.password = percentEncode(text(value), USERINFO); }
  get host() { return hostText(this.#record); }
  set host(value) {
    if (this.#record.host === null) return;
    const { username, password } = this.#record;
    const changed = { ...this.#record, port: this.#record.port };
    if (authority(changed, text(value).replace(/[/?#\\].*$/s, ""))) {
      this.#record = { ...changed, username, password, port: /:\d/.test(text(value)) ? changed.port : this.#record.port };
    }
  }
  get hostname() { return this.#record.host ?? ""; }
  set hostname(value) {
    const host = this.#record.host === null ? undefined : hostOf(text(value), isSpecial(this.#record.protocol));
    if (host !== undefined) this.#record.host = host;
  }
  get port() { return this.#record.port; }
  set port(value) {
    const digits = /^[0-9]*/.exec(text(value))[0];
    if (!this.#record.host || (digits === "" && text(value) !== "") || number(digits) > 65535) return;
    this.#record.port = digits === "" ? "" : text(number(digits));
    if (this.#record.port === SPECIAL[this.#record.protocol]) this.#record.port = "";
  }
  get pathname() { return pathname(this.#record); }
  set pathname(value) {
    if (typeof this.#record.path === "string") return;
    const special = isSpecial(this.#record.protocol);
    const given = text(value).replace(/[?#]/g, (mark) => upperHex(mark.charCodeAt(0)));
    this.#record.path = segmentsOf(given.replace(special ? /^[/\\]/ : /^\//, ""), special, []);
  }
  get search() { return this.#record.search; }
  set search(value) {
    const given = text(value).replace(/^\?/, "");
    const set = isSpecial(this.#record.protocol) ? SPECIAL_QUERY : QUERY;
    this.#record.search = given === "" ? "" : "?" + percentEncode(given, set);
    this.#refresh();
  }
  get searchParams() {
    this.#params ??= linked(this.#record.search, (search) => { this.#record.search = search === "" ? "" : "?" + search; });
    return this.#params;
  }
  get hash() { return this.#record.hash; }
  set hash(value) {
    const given = text(value).replace(/^#/, "");
    this.#record.hash = given === "" ? "" : "#" + percentEncode(given, FRAGMENT);
  }
  toString() { return this.href; }
  toJSON() { return this.href; }
  get [Symbol.toStringTag]() { return "URL"; }
}
expose("URL", URL);
expose("URLSearchParams", URLSearchParams);
