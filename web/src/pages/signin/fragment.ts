/** The one-time token behind the `#`, read once: it leaves the address bar and the history before anything else. */
export function takeFragment(): string {
  const token = decodeURIComponent(window.location.hash.slice(1));
  if (token) window.history.replaceState(window.history.state, "", window.location.pathname + window.location.search);
  return token;
}

/** Where to continue: a path of this very site, nothing else. */
export function safePath(to: string | undefined): string {
  if (!to?.startsWith("/") || to.startsWith("//") || to.includes("\\")) return "/";
  const target = new URL(to, window.location.origin);
  const path = target.pathname + target.search;
  return target.origin === window.location.origin && !path.startsWith("//") ? path : "/"; // `/.//host` becomes `//host`
}
