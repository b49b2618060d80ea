import { type ReactNode, useState } from "react";
import type { CallRow, Run } from "../../store/types";
import { useWords, type Words } from "../../words";
import { formatDuration } from "../../words/numbers";
import { callLine, callSubject, laneName, lastLine, lineOf, openRequestsBelow, outcomeOf } from "../lanes";
import { Icon } from "../parts/Icon";
import { canDecide, conversationOf, isActive, newestTurn, usePage } from "../store";
import { CallView } from "./CallView";
import { LaneLine } from "./LaneView";
import { Reasoning } from "./Reasoning";
import type { WorkItem } from "./rows";
import styles from "./talk.module.css";

interface WorkLineProps {
  readonly run: Run;
  readonly path: string;
  readonly items: readonly WorkItem[];
  readonly onOpenLane: (path: string) => void;
}

/** One line about calls and agents; it opens to each of them. */
export function WorkLine({ run, path, items, onOpenLane }: WorkLineProps): ReactNode {
  const words = useWords();
  const [isOpen, setIsOpen] = useState(false);
  const isAtWork = usePage((state) => isActive(newestTurn(conversationOf(state))));
  const isLive = isAtWork && run.end === null && items.some((item) => isWorking(item, run));
  const isMine = usePage(canDecide);
  const isAsking = isMine && isLive && items.every((item) => !isWorking(item, run) || isWaiting(item, run));
  const hasFailed = items.some((item) => item.kind === "call" && outcomeOf(item) === "failed");
  const text = isLive ? liveText(items, run, words) : pastText(items, run, words);
  return (
    <div className={styles.work}>
      <button type="button" className={styles.line} aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        <span className={isAsking ? styles.dotAsk : isLive ? styles.dotLive : hasFailed ? styles.dotBad : styles.dot} aria-hidden="true" />
        <span className={styles.lineText}>{text}</span>
        <span className={isOpen ? styles.chevronOpen : styles.chevron}>
          <Icon name="chevron" />
        </span>
      </button>
      {isOpen ? (
        <div className={styles.items}>
          {items.map((item) =>
            item.kind === "call" ? (
              <CallView key={item.key} call={item} />
            ) : item.kind === "child" ? (
              <LaneLine key={item.key} run={run} path={item.child} onOpen={() => onOpenLane(item.child)} />
            ) : (
              <Reasoning key={item.key} text={item.text} isWhole={item.isComplete} />
            ),
          )}
        </div>
      ) : null}
      {path === "" ? null : <span className="unseen">{path}</span>}
    </div>
  );
}

function isWorking(item: WorkItem, run: Run): boolean {
  if (item.kind === "call") return item.result === null;
  if (item.kind === "child") return run.lanes.get(item.child)?.endedAtMs === null;
  return !item.isComplete;
}

/** An agent waits if all that is at work in it waits for users. */
const isWaiting = (item: WorkItem, run: Run): boolean =>
  item.kind === "child" && openRequestsBelow(run, item.child).length > 0;

function liveText(items: readonly WorkItem[], run: Run, words: Words): string {
  const children = items.filter((item) => item.kind === "child" && isWorking(item, run));
  if (children.length > 0) {
    const state = children.every((child) => isWaiting(child, run)) ? words.lane.waiting : words.lane.atWork;
    const [only] = children.length === 1 ? children : [];
    const lane = only?.kind === "child" ? run.lanes.get(only.child) : undefined;
    const line = lane ? lastLine(lane) : "";
    return [state(children.length), namesOf(children, run, words), line].filter(Boolean).join(" · ");
  }
  const call = items.findLast((item) => item.kind === "call" && item.result === null);
  if (call?.kind === "call") {
    const progress = call.progress ? lineOf(call.progress.text) : "";
    return [callLine(call.tool, call.arguments), progress].filter(Boolean).join(" · ");
  }
  return words.talk.reasoning;
}

function namesOf(items: readonly WorkItem[], run: Run, words: Words): string {
  const names = items.flatMap((item) => (item.kind === "child" ? [laneName(run, item.child, words)] : []));
  return names.length > 4 ? `${names.slice(0, 4).join(", ")} …` : names.join(", ");
}

/** Sums up: `2 files, 1 search, 12 s`. */
function pastText(items: readonly WorkItem[], run: Run, words: Words): string {
  const calls = items.filter((item): item is CallRow => item.kind === "call");
  const agents = items.filter((item) => item.kind === "child").length;
  const answered = new Set(
    items.flatMap((item) => (item.kind === "child" ? [run.lanes.get(item.child)?.call ?? ""] : [])),
  );
  const parts: string[] = [];
  const files = new Set<string>();
  const reads: string[] = [];
  let searches = 0;
  let plans = 0;
  let updates = 0;
  const outcomes = { failed: 0, skipped: 0, stopped: 0 };
  const others = new Map<string, number>();
  for (const call of calls) {
    const outcome = outcomeOf(call);
    if (outcome !== null) outcomes[outcome] += 1;
    if (answered.has(call.call)) continue;
    const view = call.result?.status === "done" ? call.result.view : null;
    const written = call.result?.status === "done" ? call.result.files.filter((file) => !file.internal) : [];
    for (const file of written) files.add(file.name);
    if (view?.kind === "searched") searches += 1;
    else if (view?.kind === "plan" || call.tool === "planning") {
      if (isFirstPlan(call)) plans += 1;
      else updates += 1;
    } else if (view?.kind === "file_read") reads.push(view.file.name);
    else if (view?.kind === "file_written") files.add(view.file.name);
    else if (written.length === 0) others.set(call.tool, (others.get(call.tool) ?? 0) + 1);
  }
  if (plans > 0) parts.push(words.work.planned);
  if (reads.length > 0) parts.push(words.work.read([...new Set(reads)].slice(0, 3).join(", ")));
  if (files.size === 1) parts.push(words.work.wrote([...files].join()));
  else if (files.size > 1) parts.push(words.work.files(files.size));
  if (searches > 0) parts.push(words.work.searches(searches));
  if (agents > 0) parts.push(words.work.agents(agents), namesOf(items, run, words));
  for (const [tool, count] of [...others].slice(0, 3))
    parts.push(count > 1 ? `${tool} × ${count}` : (subjectOf(calls, tool) ?? tool));
  for (const outcome of ["failed", "skipped", "stopped"] as const)
    if (outcomes[outcome] > 0) parts.push(words.work[outcome](outcomes[outcome]));
  if (parts.length === 0) parts.push(updates > 0 ? words.work.replanned : words.talk.reasoning);
  const took = tookOf(items, run);
  if (took !== null) parts.push(formatDuration(took));
  return parts.join(" · ");
}

function isFirstPlan(call: CallRow): boolean {
  const parameters = call.arguments;
  return (
    typeof parameters === "object" && parameters !== null && "command" in parameters && parameters.command === "create"
  );
}

function subjectOf(calls: readonly CallRow[], tool: string): string | null {
  const call = calls.find((other) => other.tool === tool);
  const subject = call ? callSubject(call.arguments) : "";
  return subject && subject.length <= 40 ? `${tool} · ${subject}` : null;
}

function tookOf(items: readonly WorkItem[], run: Run): number | null {
  let begin = Number.POSITIVE_INFINITY;
  let end = 0;
  let waited = 0;
  for (const item of items) {
    if (item.kind === "call") waited = Math.max(waited, item.waitedMs);
    const from = item.kind === "call" ? item.startedAtMs : item.kind === "child" ? item.atMs : null;
    const to =
      item.kind === "call"
        ? item.endedAtMs
        : item.kind === "child"
          ? (run.lanes.get(item.child)?.endedAtMs ?? null)
          : null;
    if (from !== null) begin = Math.min(begin, from);
    if (to !== null) end = Math.max(end, to);
  }
  return end > begin ? end - begin - waited : null;
}
