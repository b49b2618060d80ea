// The types of Djinn's own protocol, generated at build time from docs/events.schema.json and docs/openapi.json.

import type {
  HandedOver,
  PublicCallProgress,
  PublicEntry,
  PublicPreview,
} from "./generated/events";
import type { components } from "./generated/openapi";

type Schemas = components["schemas"];

/** A kept event of a run. */
export type Entry = PublicEntry;
export type EntryType = Entry["type"];
export type EntryOf<T extends EntryType> = Extract<Entry, { type: T }>;
export type Preview = PublicPreview;
export type TextKind = Preview["kind"];
export type Progress = PublicCallProgress;
export type { HandedOver };

/** An event of a stream, by the kind of its data. */
export type StreamEvent =
  | { kind: "entry"; entry: Entry }
  | { kind: "preview"; preview: Preview }
  | { kind: "progress"; progress: Progress }
  | { kind: "handed_over"; handedOver: HandedOver };

export type ToolResult = EntryOf<"call.completed">["result"];
export type ResultView = Extract<ToolResult, { status: "done" }>["view"];
export type QueryRows = Extract<ResultView, { kind: "rows" }>["results"][number];
export type ToolFailure = Extract<ToolResult, { status: "failed" }>["reason"];
export type Usage = EntryOf<"message.completed">["usage"];
export type Spending = EntryOf<"run.ended">["spent"];
export type Finish = NonNullable<EntryOf<"run.ended">["finish"]>;
export type TimeoutAction = Schemas["TimeoutAction"];
export type NeededKey = Schemas["PublicNeededKey"];
export type Citation = NonNullable<EntryOf<"run.ended">["citations"]>[number];
export type HumanRequest = EntryOf<"human.requested">["requests"][number];
export type Resolution = Omit<EntryOf<"human.resolved">, "id" | "path" | "type">;
export type Risk = HumanRequest["risk"];

export type ErrorCode = Schemas["ErrorCode"];
export type ErrorBody = Schemas["ErrorBody"];
export type Failure = EntryOf<"model.changed">["failure"];
export type RunStatus = Schemas["RunStatus"];
export type RunState = Schemas["RunState"];
export type OutputStyle = Schemas["OutputStyle"];
export type SessionFile = EntryOf<"file.added">["file"];
export type PlanStep = EntryOf<"plan.changed">["plan"]["steps"][number];
export type PlanBody = EntryOf<"plan.changed">["plan"];
export type StepStatus = PlanStep["status"];

/** The issuer of tokens, and the page's client there. */
export type Issuer = NonNullable<Schemas["PageConfigBody"]["issuer"]>;
export type SessionBody = Schemas["SessionBody"];
export type SessionListBody = Schemas["SessionListBody"];
export type TurnBody = Schemas["TurnBody"];
export type RunBody = Schemas["RunBody"];
export type RunListBody = Schemas["RunListBody"];
export type RunRequest = Schemas["RunRequest"];
export type HumanSettings = Schemas["HumanSettingsRequest"];
export type Budget = Schemas["BudgetBody"];
export type ModeBody = Schemas["ModeBody"];
export type ModeListBody = Schemas["ModeListBody"];
export type ShareBody = Schemas["ShareBody"];
export type ShareRequest = Schemas["ShareRequest"];
export type PlanRequest = Schemas["PlanRequest"];
export type StepRequest = Schemas["StepRequest"];
export type PlanVersionBody = Schemas["PlanVersionBody"];
export type ResponseRequest = Schemas["ResponseRequest"];
export type ResponseBody = Schemas["ResponseBody"];
export type KeyRequest = Schemas["KeyRequest"];
export type MessageBody = Schemas["MessageBody"];
export type NewFileBody = Schemas["NewFileBody"];
