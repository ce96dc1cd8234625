import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "@/api/client";
import type { Template } from "@/api/types";
import { visible } from "@/text/visible";
import { Badge } from "@/ui/badge";
import { TextField } from "@/ui/field";
import { Section } from "@/ui/page";

export function Templates({ onChoose }: { onChoose: (template: Template) => void }) {
  const [text, setText] = useState("");
  const asked = useQuery({ queryKey: ["templates"], queryFn: () => get("/v1/templates") });
  const found = (asked.data?.items ?? []).filter((one) => matches(one, text));
  return (
    <Section
      title="Or choose a template"
      about="Well-known services, by name"
      actions={
        <div className="w-full sm:w-64">
          <TextField
            label="Search the templates"
            hideLabel
            type="search"
            placeholder="Search"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </div>
      }
    >
      {asked.data && found.length === 0 && (
        <p className="text-dim text-sm">No match. Paste the address of its document above.</p>
      )}
      <ul aria-label="Templates" className="grid gap-2 sm:grid-cols-2 lg:grid-cols-3">
        {found.map((template) => (
          <li key={template.id} className="min-w-0">
            <button
              type="button"
              onClick={() => onChoose(template)}
              className="h-full w-full rounded-lg border border-line px-3 py-2 text-left transition-colors hover:border-strong/50 hover:bg-raised active:bg-line"
            >
              <span className="flex items-center gap-2 font-medium text-sm">
                <span className="truncate">{visible(template.name)}</span>
                <Badge>{template.kind}</Badge>
              </span>
              <span className="block truncate text-dim text-xs">{visible(needs(template.auth))}</span>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** What one must have at hand; where it goes is found out when it is connected. */
function needs(auth: string | null | undefined): string {
  if (!auth) return "no credential";
  const asked = auth.match(/<([^>]+)>/)?.[1];
  const optional = /optional/.test(auth) ? ", optional" : "";
  return asked ? `needs: ${asked}${optional}` : auth === "OAuth" ? "sign in (OAuth)" : auth;
}

function matches(template: Template, text: string): boolean {
  const said = `${template.id} ${template.name} ${template.kind} ${template.auth ?? ""}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => said.includes(word));
}
