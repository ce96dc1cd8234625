// In a browser: an address and a token, or the page's own daemon and the cookie of its session.
import { baseOf, type Locate, missingToken, readUrl, type Wanted } from "./location.js";

export function locate({ url, token = "" }: Wanted): Locate {
  const own = globalThis.location?.origin ?? "";
  const read = readUrl(url ?? own);
  if (!token && read.origin !== own) throw missingToken();
  const address = { url: baseOf(read), token };
  return async () => address;
}

export const defaultWorkspace = (): string => "";
