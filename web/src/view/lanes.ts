/** Names and numbers of lanes. */

import { childOrigin } from "../store/paths";
import type { CallRow, Lane, Run, RequestState, SessionFile } from "../store/types";
import type { ToolFailure, ToolResult } from "../wire/contract";
import type { Words } from "../words";

/** The shortest name that tells lanes apart: the work of a step, or the agent. */
export function laneName(run: Run, path: string, words: Words): string {
  const lane = run.lanes.get(path);
  if (!lane || path === "") return words.requests.TheRun;
  const step = lane.step && lane.parent === "" ? run.plan?.steps.find((other) => other.id === lane.step) : undefined;
  const text =
    step?.stage ||
    (lane.step === null ? lane.agent : "") ||
    lane.description ||
    step?.details ||
    lane.agent ||
    words.lane.unnamed;
  return text.length > 60 ? `${text.slice(0, 58).trimEnd()}…` : text;
}

/** The lanes directly below a path, in their order. */
export function lanesBelow(run: Run, path: string): readonly Lane[] {
  return [...run.lanes.values()].filter((lane) => lane.parent === path);
}

export interface Totals {
  readonly tokens: number;
  readonly microUsd: number | null;
  readonly tookMs: number;
  readonly modelCalls: number;
  readonly toolCalls: number;
}

/** The reasons of failed calls that were begun, as in docs/events.md. */
const BEGUN: ReadonlySet<ToolFailure> = new Set<ToolFailure>(["error", "timed_out", "crashed", "uncertain", "stopped"]);

function wasRun(result: ToolResult): boolean {
  return result.status === "done" || (result.status === "failed" && BEGUN.has(result.reason));
}

/** The counts of rows are kept, because most lanes do not change with each event. */
const countsByRows = new WeakMap<Lane["rows"], Pick<Totals, "modelCalls" | "toolCalls">>();

function countsOf(rows: Lane["rows"]): Pick<Totals, "modelCalls" | "toolCalls"> {
  const known = countsByRows.get(rows);
  if (known) return known;
  let modelCalls = 0;
  let toolCalls = 0;
  // An agent's work counts by its own calls, and a plan is none.
  const agents = new Set(rows.map((row) => (row.kind === "child" ? childOrigin(row.child).call : null)));
  for (const row of rows) {
    if (row.kind === "message") modelCalls += 1;
    else if (row.kind !== "call" || !row.result || row.tool === "planning" || agents.has(row.call)) continue;
    else if (wasRun(row.result)) toolCalls += 1;
  }
  const counts = { modelCalls, toolCalls };
  countsByRows.set(rows, counts);
  return counts;
}

function totalsOf(lane: Lane): Totals {
  const { input_tokens, output_tokens, micro_usd } = lane.usage;
  return { tokens: input_tokens + output_tokens, microUsd: micro_usd ?? null, tookMs: 0, ...countsOf(lane.rows) };
}

/** Sums up a lane and all lanes below it, as far as events have reported. */
export function totalsBelow(run: Run, path: string): Totals {
  let sum: Totals = { tokens: 0, microUsd: null, tookMs: 0, modelCalls: 0, toolCalls: 0 };
  for (const lane of run.lanes.values()) {
    if (lane.path !== path && path !== "" && !lane.path.startsWith(`${path}.`)) continue;
    const own = totalsOf(lane);
    sum = {
      tokens: sum.tokens + own.tokens,
      microUsd: own.microUsd === null ? sum.microUsd : (sum.microUsd ?? 0) + own.microUsd,
      tookMs: 0,
      modelCalls: sum.modelCalls + own.modelCalls,
      toolCalls: sum.toolCalls + own.toolCalls,
    };
  }
  return sum;
}

/** Sums up the whole run. The end of a stopped run does not count the agents that were still at work. */
export function runTotals(run: Run): Totals {
  const lanes = totalsBelow(run, "");
  if (!run.end) return lanes;
  const { usage, model_calls, tool_calls } = run.end.spent;
  const ended: Totals = {
    tokens: usage.input_tokens + usage.output_tokens,
    microUsd: usage.micro_usd ?? null,
    tookMs: 0,
    modelCalls: model_calls,
    toolCalls: tool_calls,
  };
  if (run.end.status !== "stopped") return ended;
  const hasMoney = ended.microUsd !== null || lanes.microUsd !== null;
  return {
    tokens: Math.max(ended.tokens, lanes.tokens),
    microUsd: hasMoney ? Math.max(ended.microUsd ?? 0, lanes.microUsd ?? 0) : null,
    tookMs: 0,
    modelCalls: Math.max(ended.modelCalls, lanes.modelCalls),
    toolCalls: Math.max(ended.toolCalls, lanes.toolCalls),
  };
}

/** Returns the last line that a lane wrote, its running call, or the first line of its result. */
export function lastLine(lane: Lane): string {
  const draft = lane.drafts.at(-1);
  if (draft && (draft.text || draft.reasoning)) return lineOf(draft.text || draft.reasoning);
  const row = lane.rows.at(-1);
  if (row?.kind === "call") return row.progress?.text ? lineOf(row.progress.text) : callLine(row.tool, row.arguments);
  if (lane.text) return lineOf(lane.text.trimStart().split("\n", 1)[0] ?? "");
  if (row?.kind === "message" && row.text) return lineOf(row.text);
  return "";
}

/** The end of a text, as one line without marks. */
export function lineOf(text: string): string {
  const lines = text.slice(-1_200).trimEnd().split("\n");
  return (lines.at(-1) ?? "")
    .replace(/[#*_`>|]+/g, " ")
    .replace(/^\s*[-+]\s+/, "")
    .trim()
    .slice(0, 240);
}

/** A call as one line: the tool, and the file or the query that it works on. */
export function callLine(tool: string, parameters: unknown): string {
  const subject = callSubject(parameters);
  return subject ? `${tool} · ${subject}` : tool;
}

/** Returns how a call ended without a result: a user's decision, or none in time, is no failure. */
export function outcomeOf(call: CallRow): "failed" | "skipped" | "stopped" | null {
  if (call.result?.status !== "failed") return null;
  const { reason } = call.result;
  if (reason === "skipped" || reason === "unanswered" || reason === "answered") return "skipped";
  return reason === "stopped" ? "stopped" : "failed";
}

const SUBJECTS = ["filename", "file_name", "fileName", "name", "query", "question", "url", "task", "command"];

export function callSubject(parameters: unknown): string {
  if (typeof parameters !== "object" || parameters === null) return "";
  const fields = parameters as Record<string, unknown>;
  for (const name of SUBJECTS) {
    const value = fields[name];
    if (typeof value === "string" && value) return value.length > 80 ? `${value.slice(0, 78)}…` : value;
  }
  return "";
}

/** The work on a step of the run's plan. */
export interface StepWork {
  /** The lane that works on it: its latest attempt. */
  readonly lane: Lane | null;
  /** The tokens and the money of the lane and of the lanes below it. */
  readonly tokens: number;
  readonly microUsd: number | null;
  /** The lane or one below it waits for a user, or the start or the result of the step does. */
  readonly isWaiting: boolean;
}

export const NO_WORK: StepWork = { lane: null, tokens: 0, microUsd: null, isWaiting: false };

/** Returns the work on each step that has some, from one look at all lanes. */
export function workOfSteps(run: Run): ReadonlyMap<string, StepWork> {
  /** The steps by the paths of their lanes, and of the lanes below these. */
  const steps = new Map<string, string>();
  const work = new Map<string, StepWork>();
  for (const lane of run.lanes.values()) if (lane.parent === "" && lane.step !== null) work.set(lane.step, { ...NO_WORK, lane });
  for (const lane of run.lanes.values()) {
    const isOwn = lane.parent === "" && lane.step !== null && work.get(lane.step)?.lane === lane;
    const step = isOwn ? lane.step : steps.get(lane.parent ?? "");
    const sum = step == null ? undefined : work.get(step);
    if (step == null || !sum) continue;
    steps.set(lane.path, step);
    const own = totalsOf(lane);
    const microUsd = own.microUsd === null ? sum.microUsd : (sum.microUsd ?? 0) + own.microUsd;
    work.set(step, { ...sum, tokens: sum.tokens + own.tokens, microUsd });
  }
  for (const { request, isOpen, path } of run.requests.values()) {
    if (!isOpen) continue;
    const atWork = steps.get(path);
    if (atWork !== undefined && work.get(atWork)?.lane?.endedAtMs === null) wait(work, atWork);
    if ("step" in request) wait(work, request.step);
  }
  return work;
}

const wait = (work: Map<string, StepWork>, step: string): void =>
  void work.set(step, { ...(work.get(step) ?? NO_WORK), isWaiting: true });

/**
 * The calls of a lane that its requests show: a held or interrupted call while its request is open, and each question
 * to the user.
 */
export function callsOfRequests(run: Run, path: string): ReadonlySet<string> {
  const calls = new Set<string>();
  for (const { request, isOpen, path: lane } of run.requests.values())
    if (lane === path && "call" in request && (isOpen || request.tool === "ask_user")) calls.add(request.call);
  return calls;
}

/** The open requests of a lane and of the lanes below it. */
export function openRequestsBelow(run: Run, path: string): readonly RequestState[] {
  return [...run.requests.values()].filter(
    (state) => state.isOpen && (path === "" || state.path === path || state.path.startsWith(`${path}.`)),
  );
}

export const visibleFiles = (files: Iterable<SessionFile>): readonly SessionFile[] =>
  [...files].filter((file) => !file.internal);
