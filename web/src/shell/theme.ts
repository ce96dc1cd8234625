export type Theme = "light" | "dark" | "system";
export type Density = "normal" | "compact";
const KEPT = "executor.theme";
const DENSITY = "executor.density";

function kept(name: string): string {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

function keep(name: string, value: string): void {
  try {
    if (value) localStorage.setItem(name, value);
    else localStorage.removeItem(name);
  } catch {
    // without storage it holds until the page is loaded again
  }
}

export function chosenTheme(): Theme {
  const theme = kept(KEPT);
  return theme === "light" || theme === "dark" ? theme : "system";
}

export function chooseTheme(theme: Theme): void {
  keep(KEPT, theme === "system" ? "" : theme);
  apply(theme);
}

/** To the other one, whatever decided so far. */
export function toggleTheme(): void {
  chooseTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

export const chosenDensity = (): Density => (kept(DENSITY) === "compact" ? "compact" : "normal");

export function chooseDensity(density: Density): void {
  keep(DENSITY, density === "compact" ? density : "");
  document.documentElement.dataset.density = density;
}

function apply(chosen = chosenTheme()): void {
  const dark = chosen === "dark" || (chosen === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

/** The system's own change, and one made in another tab. */
export function watchTheme(): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply());
  addEventListener("storage", (event) => {
    if (event.key === KEPT) apply();
    if (event.key === DENSITY) document.documentElement.dataset.density = chosenDensity();
  });
}
