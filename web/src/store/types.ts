// The state that views read, and the actions that views call. The state is immutable: a changed part is a new object.

import type {
  Budget,
  Citation,
  EntryOf,
  Failure,
  Finish,
  HumanRequest,
  OutputStyle,
  PlanBody,
  Resolution,
  ResultView,
  RunState as RunStatusWord,
  RunStatus,
  SessionFile,
  ShareBody,
  Spending,
  TimeoutAction,
  ToolResult,
  Usage,
} from "../wire/contract";
import type { ErrorInfo } from "../wire/error";
import type { Following } from "../wire/follow";

export type { Citation, HumanRequest, PlanStep, QueryRows, SessionFile, ToolResult } from "../wire/contract";
export type { ErrorInfo } from "../wire/error";
export type { Following } from "../wire/follow";
export type { Actions, AuditLine, Decision } from "./actions";
export type * from "./page_types";

// One run, folded from its events.

/** The path of a child run; empty for the run itself. */
export type Path = string;

/** The state of a followed run. */
export interface Run {
  readonly id: string;
  readonly session: string;
  readonly question: string;
  /** The names of the files that came with the question. */
  readonly attachments: readonly string[];
  readonly mode: string;
  readonly outputStyle: OutputStyle | null;
  readonly warnings: readonly string[];
  readonly startedAtMs: number;
  /** All lanes by path; the run itself is the lane with the empty path. */
  readonly lanes: ReadonlyMap<Path, Lane>;
  readonly plan: PlanBody | null;
  /** Requests by id, in the order of their arrival. */
  readonly requests: ReadonlyMap<string, RequestState>;
  /** The files of the run by name, without internal ones; the latest version of each. */
  readonly files: ReadonlyMap<string, SessionFile>;
  /** The pages of all searches, by URL, first found first. */
  readonly sources: ReadonlyMap<string, Source>;
  readonly end: RunEnd | null;
  /** The time between events in which requests were open, in milliseconds. */
  readonly waitedMs: number;
  /** The time of the latest event by the server's clock, in milliseconds. */
  readonly lastEventAtMs: number;
  /** The ids of all folded entries; for the fold only. */
  readonly seen: ReadonlySet<string>;
}

/** The work of one agent: the run itself, or a child run. */
export interface Lane {
  readonly path: Path;
  /** The lane above; null for the run itself. */
  readonly parent: Path | null;
  readonly description: string;
  readonly agent: string | null;
  /** The step of the parent's plan that the lane works on. */
  readonly step: string | null;
  /** The call of the parent that the lane answers. */
  readonly call: string | null;
  readonly status: RunStatus;
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
  /** Kept events in their order. */
  readonly rows: readonly Row[];
  /** Unfinished messages, after all rows. */
  readonly drafts: readonly MessageRow[];
  /** The result of an ended child run. */
  readonly text: string;
  readonly failure: Failure | null;
  /** The tokens and money of this lane without the lanes below it. */
  readonly usage: Usage;
  /** Spending with all lanes below, from the end of the lane. */
  readonly spent: Spending | null;
  /** A wait for the provider until this time, in milliseconds. */
  readonly delayedUntilMs: number | null;
  /** The users' messages that no turn has read yet; for the fold only. */
  readonly unread: readonly Pick<UserMessageRow, "key" | "atMs">[];
  /** The latest failed attempt by message; for the fold only. */
  readonly resets: ReadonlyMap<string, number>;
}

export type Row = MessageRow | CallRow | UserMessageRow | FileRow | ChildRow | NoteRow;

/** A message of the model. `key` is stable from the first piece to the complete message. */
export interface MessageRow {
  readonly kind: "message";
  readonly key: string;
  readonly message: string;
  readonly atMs: number;
  readonly text: string;
  readonly reasoning: string;
  readonly isComplete: boolean;
  readonly isAnswer: boolean;
  readonly isTruncated: boolean;
  readonly finish: Finish | null;
  readonly usage: Usage | null;
  readonly attempt: number;
  /** The lengths of unfinished texts in bytes; for the fold only. */
  readonly bytes: { readonly text: number; readonly reasoning: number };
}

export interface CallRow {
  readonly kind: "call";
  readonly key: string;
  readonly call: string;
  readonly tool: string;
  /** With the changes of the user who allowed the call. */
  readonly arguments: unknown;
  readonly isVisible: boolean;
  readonly startedAtMs: number;
  /** The part of its time that the call waited for users, in milliseconds. */
  readonly waitedMs: number;
  readonly endedAtMs: number | null;
  readonly result: ToolResult | null;
  readonly progress: CallProgress | null;
}

export interface CallProgress {
  readonly text: string;
  /** The output exceeds its limit, and no more follows before the result. */
  readonly isCut: boolean;
  /** For the fold only. */
  readonly bytes: number;
  readonly beganAtMs: number;
}

export interface UserMessageRow {
  readonly kind: "user_message";
  readonly key: string;
  readonly atMs: number;
  readonly by: string | null;
  readonly text: string;
  /** A turn of the model has read the message. */
  readonly isRead: boolean;
}

export interface FileRow {
  readonly kind: "file";
  readonly key: string;
  readonly atMs: number;
  readonly file: SessionFile;
}

/** The start of the lane `child`. */
export interface ChildRow {
  readonly kind: "child";
  readonly key: string;
  readonly atMs: number;
  readonly child: Path;
}

/** A thin line. */
export interface NoteRow {
  readonly kind: "note";
  readonly key: string;
  readonly atMs: number;
  readonly note:
    | { readonly type: "reset"; readonly attempt: number; readonly failure: Failure }
    | { readonly type: "model_changed"; readonly from: string; readonly to: string; readonly failure: Failure }
    | { readonly type: "model_delayed"; readonly untilMs: number; readonly failure: Failure }
    | { readonly type: "rejected" }
    | {
        readonly type: "reviewed";
        readonly round: number;
        readonly isAccepted: boolean;
        readonly problems: readonly string[];
        readonly failure: Failure | null;
      }
    | { readonly type: "verdict"; readonly chosen: Path | null; readonly scores: EntryOf<"verdict.given">["scores"] }
    | { readonly type: "resumed"; readonly epoch: number }
    | { readonly type: "compacted"; readonly exchanges: number; readonly turns: number };
}

export interface RequestFacts {
  /** The JSON Schema of the call's arguments. */
  readonly schema: unknown;
  /** The response that takes effect at `expires_at_ms`. */
  readonly on_timeout: TimeoutAction | null;
}

export interface RequestState {
  /** With the facts about an open request that no event has, once they have been read. */
  readonly request: HumanRequest & Partial<RequestFacts>;
  readonly group: string;
  /** The model's own reason. */
  readonly reasoning: string;
  /** The lane that waits. */
  readonly path: Path;
  readonly atMs: number;
  readonly resolution: Resolution | null;
  /** False after a resolution, and after the end of the run or of its lane. */
  readonly isOpen: boolean;
}

export interface Source {
  readonly title: string;
  readonly url: string;
  readonly excerpt: string;
  readonly query: string;
}

export interface RunEnd {
  readonly status: RunStatus;
  readonly answer: string;
  /** The sources of the answer, by number. */
  readonly citations: readonly Citation[];
  /** The files to offer, most important first. */
  readonly files: readonly SessionFile[];
  readonly failure: Failure | null;
  readonly finish: Finish | null;
  readonly spent: Spending;
  readonly tookMs: number;
  readonly pausedMs: number;
  readonly atMs: number;
}

export type { ResultView };

// The open conversation.

export type Loadable<T> =
  | { readonly state: "loading" }
  | { readonly state: "ready"; readonly value: T }
  | { readonly state: "failed"; readonly error: ErrorInfo };

/** A question and its answer. */
export interface Turn {
  /** Stable in the list: the request's id, or the run's. */
  readonly key: string;
  /** Null until the server has accepted the question. */
  readonly run: string | null;
  /** Null after the journal has expired. */
  readonly question: string | null;
  readonly answer: string | null;
  /** The sources of the answer, by number. */
  readonly citations: readonly Citation[];
  /** The names of the files offered with the answer. */
  readonly fileNames: readonly string[];
  /** `unshared`: the share ended while the run was at work. */
  readonly status: RunStatusWord | "sending" | "unsent" | "unshared";
  readonly startedAtMs: number;
  /** The reader asked: only then do they respond to the run's requests, write to it and edit its plan. */
  readonly isOwn: boolean;
  /** The guest who asked, if the reader is the owner; else null. */
  readonly user: string | null;
  readonly attachments: readonly string[];
  /** The error of an unsent question. */
  readonly error: ErrorInfo | null;
  /** The details: null until the turn is opened or followed. */
  readonly detail: Run | null;
  readonly detailError: ErrorInfo | null;
  readonly isLoadingDetail: boolean;
  /** Limits and spending of the newest run, if read. */
  readonly budget: Budget | null;
}

export interface Conversation {
  /** The session, or the handle of a share. */
  readonly session: string;
  readonly title: string;
  /** Oldest first. */
  readonly turns: readonly Turn[];
  readonly hasOlderTurns: boolean;
  readonly isLoadingOlder: boolean;
  /** The files of the session, newest first. */
  readonly files: readonly SessionFile[];
  readonly shares: readonly ShareBody[];
  readonly isOwner: boolean;
  /** The user who shares the conversation; null for the owner. */
  readonly owner: string | null;
  readonly canWrite: boolean;
  /** The owner ended the share while the conversation was open; what is shown stays. */
  readonly hasShareEnded: boolean;
  readonly following: Following;
  /** Messages sent to the run that no event has repeated yet. */
  readonly unreadMessages: readonly PendingMessage[];
  /** Responses on their way, by request. */
  readonly sendingResponses: ReadonlyMap<string, ResponseProgress>;
  /** True from the click until the end of the run. */
  readonly isStopping: boolean;
  readonly planEdit: PlanEditState;
}

export interface PendingMessage {
  readonly id: string;
  readonly text: string;
  readonly error: ErrorInfo | null;
  /** The server has accepted the message. */
  readonly isStored: boolean;
  /** The number of messages in the run before this one; for the store only. */
  readonly after: number;
}

/** A sent response: `error` is set if it was rejected. */
export interface ResponseProgress {
  readonly error: ErrorInfo | null;
}

export type PlanEditState =
  | { readonly state: "idle" }
  | { readonly state: "saving" }
  | { readonly state: "saved" }
  | { readonly state: "failed"; readonly error: ErrorInfo }
  /** Somebody else changed the plan; `plan` is the current one. */
  | { readonly state: "conflict"; readonly version: number; readonly plan: PlanBody };
