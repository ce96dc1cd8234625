// Before the first paint, so that a dark page never flashes white. A file of its own: no inline script is allowed.
(() => {
  let wanted = "";
  let density = "";
  try {
    wanted = localStorage.getItem("executor.theme") || "";
    density = localStorage.getItem("executor.density") || "";
  } catch {
    // storage is switched off: the system decides
  }
  const dark = wanted ? wanted === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.documentElement.dataset.density = density === "compact" ? "compact" : "normal";
})();
