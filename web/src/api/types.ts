// The nouns of `/v1`, by the names that the pages use.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Execution = Schemas["ExecutionView"];
export type ExecutionSummary = Schemas["ExecutionSummary"];
export type ExecutionPage = Schemas["ExecutionPage"];
export type Status = Execution["status"];
export type Call = Schemas["CallView"];
export type Artifact = Schemas["ArtifactView"];
export type ArtifactPage = Schemas["ArtifactPage"];
export type LogLine = Schemas["LogLine"];
export type LiveEvent = Schemas["EventView"];
export type Interaction = Schemas["InteractionView"];
export type Elicitation = Schemas["ElicitationView"];
export type ElicitationField = Schemas["FieldView"];
export type InteractionPage = Schemas["InteractionPage"];
export type Always = Schemas["AlwaysView"];
export type Policy = Schemas["PolicyView"];
export type PolicyPage = Schemas["PolicyPage"];
export type Decision = Schemas["DecisionView"];
export type Simulation = Schemas["SimulationView"];
export type Matches = Schemas["MatchesView"];
export type Source = Schemas["SourceView"];
export type SourcePage = Schemas["SourcePage"];
export type Refreshed = Schemas["RefreshedView"];
export type Probe = Schemas["ProbeView"];
export type Template = Schemas["TemplateView"];
export type ToolHead = Schemas["ToolHead"];
export type ToolPage = Schemas["ToolPage"];
export type Connection = Schemas["ConnectionView"];
export type Secret = Schemas["SecretView"];
export type Who = Schemas["WhoView"];
export type SystemStatus = Schemas["StatusView"];
export type Check = Schemas["Check"];
export type Key = Schemas["KeyView"];
export type Agent = Schemas["AgentView"];
export type Toolkit = Schemas["ToolkitView"];
export type ToolkitTool = Schemas["ToolkitToolView"];
export type ToolkitKey = Schemas["ToolkitKeyView"];
export type Webhook = Schemas["WebhookView"];
export type Delivery = Schemas["DeliveryView"];
export type Client = Schemas["ClientView"];
export type ClientPage = Schemas["ClientPage"];
export type BrowserSession = Schemas["SessionView"];
export type Session = Schemas["AgentSession"];
export type SessionDetails = Schemas["AgentSessionDetails"];
export type SessionTask = Schemas["TaskView"];
export type SessionMessage = Schemas["MessageView"];
export type Member = Schemas["MemberView"];
export type Invitation = Schemas["InvitationView"];
export type Effect = ToolHead["effect"];
export type Action = Policy["action"];

export type Match = { path: string; description: string; effect: Effect };

export type Tool = {
  path: string;
  description: string;
  effect: Effect;
  source: string;
  signature: string;
  deprecated: boolean;
  inputSchema?: unknown;
  example?: string;
  exampleArguments?: object | null;
  outputSchema?: unknown;
  ownPath?: string;
  describedBy?: string;
};

export type Way = {
  name: string;
  scheme: string;
  description: string;
  inputs: { name: string; label: string; secret: boolean }[];
  placements: Schemas["Placement"][];
  oauth: Record<string, unknown> | null;
  scopes: string[];
};

export type Needs = {
  source: string;
  sourceId: string;
  origin: string;
  sentTo: string;
  connection: string;
  ways: Way[];
};
