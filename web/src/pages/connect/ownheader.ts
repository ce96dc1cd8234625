import type { Way } from "@/api/types";

/** For a service that doesn't say what it takes, or says something else: any header, named by an administrator. */
export const OWN_HEADER: Way = {
  name: "another header",
  scheme: "api_key",
  description: "",
  inputs: [{ name: "value", label: "value", secret: true }],
  placements: [],
  oauth: null,
  scopes: [],
};

export const inHeader = (name: string): Way["placements"] => [{ in: "header", name: name.trim(), template: "{value}" }];
