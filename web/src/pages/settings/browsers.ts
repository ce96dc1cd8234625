import { visible } from "@/text/visible";

const BROWSERS: [RegExp, string][] = [
  [/Edg\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\//, "Firefox"],
  [/HeadlessChrome\//, "Chrome (headless)"],
  [/Chrome\//, "Chrome"],
  [/Safari\//, "Safari"],
];
const SYSTEMS: [RegExp, string][] = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Mac OS X/, "macOS"],
  [/Windows/, "Windows"],
  [/Linux/, "Linux"],
];

/** What a browser calls itself, in two words; the whole if it is none that is known. */
export function browserName(agent: string): string {
  const known = (list: [RegExp, string][]) => list.find(([sign]) => sign.test(agent))?.[1];
  const browser = known(BROWSERS);
  if (!browser) return visible(agent) || "unknown browser";
  const system = known(SYSTEMS);
  return system ? `${browser} on ${system}` : browser;
}
