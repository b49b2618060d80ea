import type { ReactNode } from "react";
import type { Conversation } from "../../store/types";
import { useWords } from "../../words";
import { formatClock, formatMoney, formatTokens } from "../../words/numbers";
import { runTotals } from "../lanes";
import type { PanelTab } from "../panel/Panel";
import { Icon } from "../parts/Icon";
import parts from "../parts/parts.module.css";
import { useServerNow } from "../parts/time";
import { hasUsers, isActive, newestTurn, usePage } from "../store";
import styles from "./shell.module.css";

interface BarProps {
  readonly conversation: Conversation | null;
  readonly isNarrow: boolean;
  readonly isPanelOpen: boolean;
  readonly onMenu: () => void;
  readonly onShare: () => void;
  /** Opens a tab; null shows or hides the panel. */
  readonly onPanel: (tab: PanelTab | null) => void;
}

/** The title, and one figure for the run. */
export function Bar({ conversation, isNarrow, isPanelOpen, onMenu, onShare, onPanel }: BarProps): ReactNode {
  const words = useWords();
  const isScripted = usePage((state) => state.config.state === "ready" && state.config.value.isScriptedModel);
  const session = usePage((state) => state.route.session);
  const canShare = usePage(hasUsers);
  const run = newestTurn(conversation)?.detail ?? null;
  const steps = run?.plan?.steps ?? [];
  const done = steps.filter((step) => step.status === "completed" || step.status === "skipped").length;
  const title =
    conversation?.title ||
    conversation?.turns[0]?.question?.split("\n")[0]?.slice(0, 200) ||
    (session === null ? words.rail.newQuestion : words.page.name);
  return (
    <header className={styles.bar}>
      {isNarrow ? (
        <button type="button" className={parts.icon} aria-label={words.page.menu} onClick={onMenu}>
          <Icon name="menu" />
        </button>
      ) : null}
      <h1 className={styles.title}>
        <bdi>{title}</bdi>
      </h1>
      {conversation && conversation.owner !== null ? (
        <span className={styles.demo}>
          {words.rail.by} <bdi>{conversation.owner}</bdi>
        </span>
      ) : null}
      {isScripted && !(isNarrow && run) ? (
        <span className={styles.demo} title={words.page.demoModel}>
          {isNarrow || conversation ? words.page.demoShort : words.page.demoModel}
        </span>
      ) : null}
      <span className={styles.push} />
      {isNarrow && steps.length > 0 ? (
        <button type="button" className={styles.chip} onClick={() => onPanel("plan")}>
          {words.plan.progress(done, steps.length)}
        </button>
      ) : null}
      {conversation && run && !isNarrow ? (
        <Figure conversation={conversation} onClick={() => onPanel("usage")} />
      ) : null}
      {canShare && conversation?.isOwner && conversation.turns.length > 0 ? (
        <button type="button" className={`${parts.quiet} ${styles.share}`} onClick={onShare}>
          {conversation.shares.length > 0 ? words.share.shared : words.rail.share}
        </button>
      ) : null}
      {conversation && conversation.turns.length > 0 ? (
        <button
          type="button"
          className={parts.icon}
          aria-label={words.page.panel}
          aria-expanded={isPanelOpen}
          data-key="panel"
          onClick={() => onPanel(null)}
        >
          <Icon name="panel" />
        </button>
      ) : null}
    </header>
  );
}

/** One figure for the run with all agents. */
function Figure({ conversation, onClick }: { conversation: Conversation; onClick: () => void }): ReactNode {
  const words = useWords();
  const turn = newestTurn(conversation);
  const run = turn?.detail;
  const isRunning = isActive(turn) && turn?.status !== "paused";
  const now = useServerNow(isRunning);
  if (!run) return null;
  const { tokens, microUsd: money } = runTotals(run);
  // Time in which users were asked is not the run's.
  const ms = run.end
    ? run.end.tookMs - run.end.pausedMs
    : (isRunning ? now : run.lastEventAtMs) - run.startedAtMs - run.waitedMs;
  const tokenCount = tokens > 0 ? words.usage.tokenCount(formatTokens(tokens)) : "";
  const cost = money === null ? "" : formatMoney(money);
  const facts = [formatClock(ms), tokenCount, cost].filter(Boolean);
  return (
    <button
      type="button"
      className={styles.chip}
      aria-label={`${words.usage.label}: ${facts.join(", ")}`}
      onClick={onClick}
    >
      {facts.join(" · ")}
    </button>
  );
}
