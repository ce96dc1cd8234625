export type Language = "typescript" | "python";

export const NAMES: Record<Language, string> = { typescript: "TypeScript", python: "Python" };

export const languageOf = (text: string | undefined): Language => (text === "python" ? "python" : "typescript");
