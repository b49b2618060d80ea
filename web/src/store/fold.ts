// The state of a run, folded from its events. Repeated, late and missing pieces lead to the same state.

import type { Entry, EntryOf, Preview, Progress, SessionFile, StreamEvent } from "../wire/contract";
import { addUsage, newDraft, newLane, textsAfter } from "./empty_run";
import { childOrigin, parentPath } from "./paths";
import { writePiece } from "./pieces";
import type { CallRow, Lane, MessageRow, NoteRow, Path, RequestState, Row, Run, Source } from "./types";

/** Returns the state after these events. The given state is unchanged. */
export function foldEvents(run: Run, events: readonly StreamEvent[]): Run {
  const fold = new Fold(run);
  for (const event of events) fold.add(event);
  return fold.run;
}

/** Returns true if the run only waits for its users. */
export function isWaitingForUsers(run: Run): boolean {
  if (run.end) return false;
  const open = [...run.requests.values()].filter((request) => request.isOpen);
  return open.length > 0;
}

/** One batch of events. Copies each changed part once, at its first change. */
class Fold {
  run: Run;
  /** The run, lanes, maps and rows that belong to this batch, and may be changed in place. */
  readonly #owned = new WeakSet<object>();

  constructor(run: Run) {
    this.run = run;
  }

  add(event: StreamEvent): void {
    if (event.kind === "preview") return this.#preview(event.preview);
    if (event.kind === "progress") return this.#progress(event.progress);
    if (event.kind === "handed_over") return;
    const entry = event.entry;
    if (this.run.seen.has(entry.id)) return;
    const seen = this.#own(this.run.seen, (set) => new Set(set)) as Set<string>;
    seen.add(entry.id);
    const { lastEventAtMs } = this.run;
    const waitedMs = isWaitingForUsers(this.run) ? Math.max(0, entry.at_ms - lastEventAtMs) : 0;
    this.#change({
      seen,
      lastEventAtMs: Math.max(lastEventAtMs, entry.at_ms),
      waitedMs: this.run.waitedMs + waitedMs,
    });
    this.#entry(entry);
  }

  #own<T extends object>(value: T, copy: (value: T) => T): T {
    if (this.#owned.has(value)) return value;
    const own = copy(value);
    this.#owned.add(own);
    return own;
  }

  #change(change: Partial<Run>): void {
    this.run = this.#own(this.run, (run) => ({ ...run }));
    Object.assign(this.run, change);
  }

  /** Changes a lane; a lane of an unknown path is created. */
  #lane(path: Path, atMs: number, change: (lane: Lane) => Partial<Lane>): void {
    const lanes = this.#own(this.run.lanes, (map) => new Map(map)) as Map<Path, Lane>;
    const known = lanes.get(path) ?? newLane(path, parentPath(path), atMs);
    const lane = this.#own(known, (lane) => ({ ...lane }));
    lanes.set(path, Object.assign(lane, change(lane)));
    this.#change({ lanes });
  }

  #addRow(path: Path, atMs: number, row: Row, change: (lane: Lane) => Partial<Lane> = () => ({})): void {
    this.#lane(path, atMs, (lane) => {
      const rows = this.#own(lane.rows, (rows) => [...rows]) as Row[];
      rows.push(row);
      return { rows, ...change(lane) };
    });
  }

  /** Replaces the row with this key, from the newest on. */
  #changeRow(path: Path, key: string, change: (row: Row) => Row): void {
    this.#lane(path, 0, (lane) => {
      const rows = this.#own(lane.rows, (rows) => [...rows]) as Row[];
      const index = rows.findLastIndex((row) => row.key === key);
      const row = rows[index];
      if (row) rows[index] = change(row);
      return { rows };
    });
  }

  #note(entry: Entry, note: NoteRow["note"], change: (lane: Lane) => Partial<Lane> = () => ({})): void {
    this.#addRow(entry.path ?? "", entry.at_ms, { kind: "note", key: entry.id, atMs: entry.at_ms, note }, change);
  }

  #preview(preview: Preview): void {
    const path = preview.path ?? "";
    const known = this.run.lanes.get(path);
    if (this.run.end || (known && known.endedAtMs !== null)) return;
    // The complete message came first.
    if (this.run.seen.has(path === "" ? preview.message : `${path}.${preview.message}`)) return;
    const key = preview.message;
    const draft = known?.drafts.find((draft) => draft.key === key);
    if (draft && preview.attempt < draft.attempt) return;
    if (preview.attempt <= (known?.resets.get(preview.message) ?? 0)) return;
    const base = draft && draft.attempt === preview.attempt ? draft : newDraft(preview);
    const field = preview.kind === "text" ? "text" : "reasoning";
    const text = writePiece(base[field], base.bytes[preview.kind], preview.offset, preview.text);
    if (!text) return;
    const next: MessageRow = {
      ...base,
      [field]: text.text,
      bytes: { ...base.bytes, [preview.kind]: text.bytes },
    };
    this.#lane(path, preview.at_ms, (lane) => ({
      drafts: draft ? lane.drafts.map((old) => (old.key === key ? next : old)) : [...lane.drafts, next],
      delayedUntilMs: null,
    }));
  }

  #progress(progress: Progress): void {
    const path = progress.path ?? "";
    const row = this.run.lanes.get(path)?.rows.findLast((row) => row.key === progress.call);
    if (row?.kind !== "call" || row.result) return;
    const old = row.progress;
    if (old && progress.began_at_ms < old.beganAtMs) return;
    const base = old && old.beganAtMs === progress.began_at_ms ? old : { text: "", bytes: 0 };
    // Lost lines are not sent again: a piece after a gap is shown.
    const offset = Math.min(progress.offset, base.bytes);
    const skipped = progress.offset - offset;
    const text = writePiece(base.text, base.bytes, offset, progress.text);
    if (!text) return;
    const next = { text: text.text, bytes: text.bytes + skipped, isCut: progress.cut, beganAtMs: progress.began_at_ms };
    this.#changeRow(path, row.key, (row) => ({ ...(row as CallRow), progress: next }));
  }

  #entry(entry: Entry): void {
    const path = entry.path ?? "";
    const atMs = entry.at_ms;
    switch (entry.type) {
      case "run.started":
        this.#change({
          session: entry.session,
          question: entry.question,
          attachments: entry.attachments ?? [],
          mode: entry.mode,
          outputStyle: entry.output_style ?? null,
          warnings: entry.warnings ?? [],
          startedAtMs: atMs,
        });
        return this.#lane("", atMs, () => ({ startedAtMs: atMs }));
      case "run.resumed":
        // The pieces of unfinished messages are sent anew, in all lanes.
        for (const lane of this.run.lanes.values()) {
          if (lane.drafts.length > 0) this.#lane(lane.path, atMs, () => ({ drafts: [] }));
        }
        return this.#note(entry, { type: "resumed", epoch: entry.epoch });
      case "message.reset": {
        const { attempt, failure } = entry;
        // A reviewer rejected a complete message, which stays as a part of the work.
        if (attempt == null || !failure) return this.#note(entry, { type: "rejected" });
        return this.#note(entry, { type: "reset", attempt, failure }, (lane) => ({
          drafts: lane.drafts.filter((draft) => draft.key !== entry.message || draft.attempt > attempt),
          resets: new Map(lane.resets).set(entry.message, attempt),
        }));
      }
      case "review.completed": {
        const { round, accepted: isAccepted } = entry;
        const problems = [...entry.problems, ...entry.missing];
        const failure = entry.failure ?? null;
        return this.#note(entry, { type: "reviewed", round, isAccepted, problems, failure });
      }
      case "model.changed":
        return this.#note(entry, { type: "model_changed", from: entry.from, to: entry.to, failure: entry.failure });
      case "model.delayed": {
        const note = { type: "model_delayed", untilMs: entry.until_ms, failure: entry.failure } as const;
        return this.#note(entry, note, () => ({ delayedUntilMs: entry.until_ms }));
      }
      case "message.completed":
        return this.#message(path, entry);
      case "call.requested":
        return this.#addRow(path, atMs, {
          kind: "call",
          key: entry.call,
          call: entry.call,
          tool: entry.tool,
          arguments: entry.arguments,
          isVisible: entry.visible,
          startedAtMs: atMs,
          waitedMs: 0,
          endedAtMs: null,
          result: null,
          progress: null,
        });
      case "call.completed": {
        const result = entry.result;
        this.#changeRow(path, entry.call, (row) =>
          row.kind === "call" ? { ...row, result, endedAtMs: atMs, progress: null } : row,
        );
        if (result.status !== "done") return;
        this.#addFiles(result.files);
        if (result.view.kind === "searched") this.#addSources(result.view.results);
        return;
      }
      case "file.added":
        this.#addFiles([entry.file]);
        return this.#addRow(path, atMs, { kind: "file", key: entry.id, atMs, file: entry.file });
      case "context.compacted": {
        const note = { type: "compacted", exchanges: entry.exchanges, turns: entry.turns } as const;
        return this.#note(entry, note, (lane) => ({ usage: addUsage(lane.usage, entry.usage) }));
      }
      case "agent.changed":
        // Its text and calls stand in the same lane.
        return;
      case "employees.named":
        return this.#lane(path, atMs, (lane) => ({ usage: addUsage(lane.usage, entry.usage) }));
      case "plan.changed":
        if (path === "") this.#change({ plan: entry.plan });
        return;
      case "step.changed":
        return this.#step(path, entry);
      case "child.started":
        this.#lane(entry.child, atMs, () => ({
          ...childOrigin(entry.child),
          description: entry.description,
          agent: entry.agent ?? null,
          startedAtMs: atMs,
        }));
        return this.#addRow(path, atMs, { kind: "child", key: entry.id, atMs, child: entry.child });
      case "verdict.given":
        return this.#note(entry, { type: "verdict", chosen: entry.chosen ?? null, scores: entry.scores });
      case "child.ended":
        return this.#childEnded(entry);
      case "user_message.added": {
        const row = { kind: "user_message", key: entry.id, atMs, by: entry.by ?? null, text: entry.text } as const;
        return this.#addRow(path, atMs, { ...row, isRead: false }, (lane) => ({
          unread: [...lane.unread, { key: entry.id, atMs }],
        }));
      }
      case "human.requested":
        return this.#requested(entry);
      case "human.resolved":
        return this.#resolved(entry);
      case "run.ended":
        return this.#runEnded(entry);
      default:
        entry satisfies never;
    }
  }

  #message(path: Path, entry: EntryOf<"message.completed">): void {
    const row: MessageRow = {
      kind: "message",
      key: entry.message,
      message: entry.message,
      atMs: entry.at_ms,
      text: entry.text,
      reasoning: entry.reasoning ?? "",
      isComplete: true,
      isAnswer: entry.answer ?? false,
      isTruncated: entry.truncated ?? false,
      finish: entry.finish ?? null,
      usage: entry.usage,
      attempt: 0,
      bytes: { text: 0, reasoning: 0 },
    };
    this.#addRow(path, entry.at_ms, row, (lane) => ({
      drafts: lane.drafts.filter((draft) => draft.key !== entry.message),
      usage: addUsage(lane.usage, entry.usage),
      delayedUntilMs: null,
    }));
    // The model's call has read all messages from before its start.
    const readAtMs = entry.at_ms - entry.usage.took_ms;
    const unread = this.run.lanes.get(path)?.unread ?? [];
    const newlyRead = new Set(unread.filter(({ atMs }) => atMs <= readAtMs).map(({ key }) => key));
    if (newlyRead.size === 0) return;
    this.#lane(path, entry.at_ms, (lane) => ({
      rows: lane.rows.map((row) => (newlyRead.has(row.key) ? ({ ...row, isRead: true } as Row) : row)),
      unread: unread.filter(({ key }) => !newlyRead.has(key)),
    }));
  }

  #step(path: Path, entry: EntryOf<"step.changed">): void {
    const plan = this.run.plan;
    if (path !== "" || !plan) return;
    const steps = plan.steps.map((step) =>
      step.id === entry.step ? { ...step, status: entry.status, note: entry.note ?? step.note } : step,
    );
    this.#change({ plan: { ...plan, steps } });
  }

  #childEnded(entry: EntryOf<"child.ended">): void {
    this.#addFiles(entry.files);
    this.#lane(entry.child, entry.at_ms, (lane) => ({
      status: entry.status,
      endedAtMs: entry.at_ms,
      text: entry.text,
      failure: entry.failure ?? null,
      spent: entry.spent,
      drafts: textsAfter(entry.status, lane.drafts),
      delayedUntilMs: null,
    }));
    const isBelow = (path: Path) => path === entry.child || path.startsWith(`${entry.child}.`);
    this.#changeRequests((state) => isBelow(state.path), {});
  }

  #runEnded(entry: EntryOf<"run.ended">): void {
    this.#addFiles(entry.files);
    for (const lane of this.run.lanes.values()) {
      const isRoot = lane.path === "";
      if (!isRoot && lane.endedAtMs !== null) continue;
      this.#lane(lane.path, entry.at_ms, () => ({
        status: entry.status,
        endedAtMs: entry.at_ms,
        drafts: isRoot ? [] : textsAfter(entry.status, lane.drafts),
        delayedUntilMs: null,
        ...(isRoot ? { spent: entry.spent, failure: entry.failure ?? null } : {}),
      }));
    }
    this.#changeRequests(() => true, {});
    if (entry.review) this.#markReviewedAnswer(entry.answer);
    this.#change({
      end: {
        status: entry.status,
        answer: entry.answer,
        citations: entry.citations ?? [],
        files: entry.files.filter((file) => !file.internal),
        failure: entry.failure ?? null,
        finish: entry.finish ?? null,
        spent: entry.spent,
        tookMs: entry.took_ms,
        pausedMs: entry.paused_ms ?? 0,
        atMs: entry.at_ms,
      },
    });
  }

  /** Marks the message that became the answer after its review. */
  #markReviewedAnswer(answer: string): void {
    const isAnswer = (row: Row) => row.kind === "message" && row.text !== "" && answer.endsWith(row.text);
    const row = this.run.lanes.get("")?.rows.findLast(isAnswer);
    if (row) this.#changeRow("", row.key, (row) => (row.kind === "message" ? { ...row, isAnswer: true } : row));
  }

  #requested(entry: EntryOf<"human.requested">): void {
    const requests = this.#own(this.run.requests, (map) => new Map(map)) as Map<string, RequestState>;
    for (const request of entry.requests) {
      requests.set(request.id, {
        request,
        group: entry.group,
        reasoning: entry.reasoning,
        path: request.path ?? "",
        atMs: entry.at_ms,
        resolution: null,
        isOpen: true,
      });
    }
    this.#change({ requests });
  }

  #resolved(entry: EntryOf<"human.resolved">): void {
    const state = this.run.requests.get(entry.request);
    if (state?.isOpen && "call" in state.request) {
      const changed = entry.response === "modify" ? { arguments: entry.arguments } : {};
      const waitedMs = Math.max(0, entry.at_ms - state.atMs);
      this.#changeRow(state.path, state.request.call, (row) =>
        row.kind === "call" ? { ...row, ...changed, waitedMs: row.waitedMs + waitedMs } : row,
      );
    }
    this.#changeRequests(({ request }) => request.id === entry.request, { resolution: entry });
  }

  /** Closes the matching requests that are open. */
  #changeRequests(matches: (state: RequestState) => boolean, change: Partial<RequestState>): void {
    const closed = [...this.run.requests].filter(([, state]) => state.isOpen && matches(state));
    if (closed.length === 0) return;
    const requests = this.#own(this.run.requests, (map) => new Map(map)) as Map<string, RequestState>;
    for (const [id, state] of closed) requests.set(id, { ...state, ...change, isOpen: false });
    this.#change({ requests });
  }

  #addFiles(added: readonly SessionFile[]): void {
    const shown = added.filter((file) => !file.internal);
    if (shown.length === 0) return;
    const files = this.#own(this.run.files, (map) => new Map(map)) as Map<string, SessionFile>;
    for (const file of shown) files.set(file.name, file);
    this.#change({ files });
  }

  #addSources(findings: readonly { query: string; pages: readonly Omit<Source, "query">[] }[]): void {
    const sources = this.#own(this.run.sources, (map) => new Map(map)) as Map<string, Source>;
    for (const { query, pages } of findings) {
      for (const page of pages) if (!sources.has(page.url)) sources.set(page.url, { ...page, query });
    }
    this.#change({ sources });
  }
}
