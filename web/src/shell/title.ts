// The tab says where one is, and how many decisions wait: in its title and in its icon.
let page = "";
let pending = 0;

function show(): void {
  document.title = `${pending ? `(${pending}) ` : ""}${page ? `${page} · ` : ""}Executor`;
}

export function setTitle(title: string): void {
  page = title;
  show();
}

export function setPending(count: number): void {
  if (count === pending) return;
  pending = count;
  show();
  const icon = document.getElementById("favicon") as HTMLLinkElement | null;
  if (icon) icon.href = count ? `data:image/svg+xml,${encodeURIComponent(drawing(count))}` : "/favicon.svg";
}

/** The mark with the number in its corner; too many to be read so small are a plus. */
function drawing(count: number): string {
  const mark = `<rect width="32" height="32" rx="8" fill="#4650dd"/><path d="M8 11l6 6-6 6" fill="none" stroke="#fff" stroke-width="3.2"/>`;
  const number = `<text x="22" y="14.5" font-family="sans-serif" font-size="15" font-weight="700" fill="#fff" text-anchor="middle">${count > 9 ? "+" : count}</text>`;
  const badge = `<circle cx="22" cy="10" r="10" fill="#d6303a"/>${number}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${mark}${badge}</svg>`;
}
