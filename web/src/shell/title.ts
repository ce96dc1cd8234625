// The tab tells where one is, and how many decisions wait: in its title and in its icon.
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
  if (icon) icon.href = count ? `data:image/svg+xml,${encodeURIComponent(drawing())}` : "/favicon.svg";
}

function drawing(): string {
  const mark = `<rect width="32" height="32" rx="8" fill="#4650dd"/><path d="M9 10l6 6-6 6" fill="none" stroke="#fff" stroke-width="3"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${mark}<circle cx="24" cy="8" r="8" fill="#e5484d"/></svg>`;
}
