import type { components } from "@/api/schema";

type Usage = components["schemas"]["UsageView"];

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Small amounts too: a short prompt costs less than a cent. */
export const dollars = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumFractionDigits: 4 });

/** In and out together; what a cache gave is part of what went in. */
export function tokens(usage: Usage): string {
  const all = usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
  return all === 0 ? "" : `${short.format(all)} tokens`;
}
