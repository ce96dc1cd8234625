// Where the daemon is, and what is shown to it.
import { InvalidRequest } from "./errors.js";

export interface Address {
  /** Without a slash at the end, and without `/v1`. */
  url: string;
  /** Empty in a page of the daemon itself, where the cookie says who asks. */
  token: string;
}

export interface Wanted {
  url?: string | undefined;
  token?: string | undefined;
  workspace?: string | undefined;
}

/** Looked up for each request: after a restart, the daemon of this machine may have another port. */
export type Locate = () => Promise<Address>;

export function readUrl(url: string): URL {
  let read: URL;
  try {
    read = new URL(url);
  } catch {
    throw addressError();
  }
  const odd = read.username || read.password || read.search || read.hash;
  if (!["http:", "https:"].includes(read.protocol) || odd) throw addressError();
  return read;
}

export function baseOf(url: URL): string {
  return `${url.origin}${url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "")}`;
}

/** What is in a header must not end it, and no error shows it. */
export function checkVisible(text: string, what: string): string {
  if (!/^[!-~]*$/.test(text)) {
    throw new InvalidRequest(`${what} contains characters that it can't have`, {
      code: "invalid_request",
      hint: "copy it again",
    });
  }
  return text;
}

export function missingToken(): InvalidRequest {
  return new InvalidRequest("a token is missing for this address", {
    code: "invalid_request",
    hint: "pass `token`; `executor keys create` creates one",
  });
}

function addressError(): InvalidRequest {
  return new InvalidRequest("`url` is not an address", {
    code: "invalid_request",
    hint: "write http://host:port or https://host, without credentials",
  });
}
