// The state of the page around the open conversation: lists, drafts, sign-in and notices.

import type { Issuer, ModeBody, OutputStyle } from "../wire/contract";
import type { ErrorInfo } from "../wire/error";
import type { Actions } from "./actions";
import type { Conversation, Loadable } from "./types";

export type Language = "en" | "zh";

export interface ConversationSummary {
  readonly session: string;
  readonly title: string;
  /** The beginning of the newest question; may be empty. */
  readonly newestQuestion: string;
  /** The question, or the part of an answer, that a search found, unless it found the title. */
  readonly foundText: string | null;
  /** The user who shares the conversation with the reader; null for the reader's own. */
  readonly owner: string | null;
  readonly startedAtMs: number;
  readonly lastActiveAtMs: number;
  /** Running and waiting runs are marked, and questions that the server does not have yet. */
  readonly mark: "running" | "waiting" | "unsent" | null;
}

export interface ConversationList {
  /** The signed-in user; empty until the list is read. */
  readonly user: string;
  /** Newest question first. */
  readonly items: readonly ConversationSummary[];
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  /** True while a search reads questions. */
  readonly isSearching: boolean;
  readonly error: ErrorInfo | null;
  /** The search text; `items` contains those whose title, or the beginning of a question, has it. */
  readonly search: string;
}

export interface Upload {
  readonly id: string;
  /** The name on the device; the stored name after the upload. */
  readonly name: string;
  readonly size: number;
  /** 0 to 1. */
  readonly progress: number;
  readonly state: "uploading" | "done" | "failed";
  /** Null for an upload that ended with its page. */
  readonly error: ErrorInfo | null;
}

/** The content of the input box of one conversation. */
export interface Draft {
  readonly text: string;
  readonly uploads: readonly Upload[];
  readonly mode: string;
  readonly outputStyle: OutputStyle | null;
  readonly human: HumanChoice;
}

/** The occasions on which the run asks its user. */
export interface HumanChoice {
  /** Before calls with a risk. */
  readonly risks: boolean;
  readonly plan: boolean;
  readonly results: boolean;
  /** Questions of the model. */
  readonly clarify: boolean;
}

export interface SignIn {
  readonly kind: "none" | "key" | "iam" | "jwt";
  /** The issuer of tokens, if the page has a client there. */
  readonly issuer: Issuer | null;
}

/** The reason why signing in at an issuer failed. */
export type SignInProblem =
  /** The issuer led back from a sign-in that this tab did not begin. */
  | "state"
  /** The token belongs to another sign-in. */
  | "nonce"
  /** The user or the issuer said no. */
  | "denied"
  /** The issuer's answer is not usable. */
  | "refused"
  /** The issuer did not answer. */
  | "unreachable"
  /** The page was loaded without TLS. */
  | "insecure"
  /** The agent does not accept the token. */
  | "rejected"
  /** The token has ended, and could not be renewed. */
  | "ended";

/** The answer of `GET /web/config`. */
export interface PageConfig {
  readonly signIn: SignIn;
  readonly language: Language;
  /** The model is the demo, which knows only the sample questions. */
  readonly isScriptedModel: boolean;
  /** The largest body that the agent accepts; larger files take another way by themselves. */
  readonly maxBodyBytes: number;
  /** The version of the page's files at the agent. */
  readonly version: string;
}

export type SignInState =
  /** Not known yet. */
  | { readonly state: "unknown" }
  | { readonly state: "signed_in" }
  /** A key is needed; `error` says why the last one was rejected. */
  | { readonly state: "needs_key"; readonly error: ErrorInfo | null }
  /** A token of the issuer is needed. */
  | { readonly state: "needs_token"; readonly problem: SignInProblem | null }
  /** The page cannot sign in to this deployment; it explains the remedy. */
  | { readonly state: "unsupported"; readonly kind: "iam" | "jwt" };

/** The address: `#/` or `#/s/{session}`. */
export interface Route {
  /** Null for a new conversation. */
  readonly session: string | null;
}

export interface PageState {
  readonly config: Loadable<PageConfig>;
  /** The modes that this user may start, the default one first; empty until they are read. */
  readonly modes: readonly ModeBody[];
  readonly signIn: SignInState;
  readonly route: Route;
  readonly conversations: ConversationList;
  /** Null for a new conversation. */
  readonly conversation: Loadable<Conversation> | null;
  readonly draft: Draft;
  /** Milliseconds to add to this device's clock to get the server's. */
  readonly clockOffsetMs: number;
  /** False while the browser has no network and the server does not answer. */
  readonly isOnline: boolean;
  /** Errors of actions without a place of their own; newest last. */
  readonly notices: readonly Notice[];
  /** True if the agent has another version than the page. */
  readonly hasNewVersion: boolean;
}

export interface Notice {
  readonly id: string;
  readonly error: ErrorInfo;
}

export interface Store {
  getState(): PageState;
  subscribe(listener: () => void): () => void;
  readonly actions: Actions;
}
