// Settling an interaction. A decision is sent once: whether it arrived, the execution says.
import { type Exchange, segment } from "./exchange.js";
import type { Decision } from "./execution.js";
import type { InteractionView } from "./types.js";

export function decide(exchange: Exchange, id: string, decision: Decision): Promise<InteractionView> {
  const { action, ...given } = decision;
  const body = action === "answer" ? { action: "accept", ...given } : given;
  return exchange.send({ method: "POST", path: `/v1/interactions/${segment(id)}/${action}`, body });
}
