import { Tab, TabList, TabPanel, TabProvider } from "@ariakit/react";
import { type ReactNode, useMemo } from "react";
import type { Conversation, Source, Turn } from "../../store/types";
import { useWords } from "../../words";
import { FilesPanel } from "../files/FilesPanel";
import { PlanPanel } from "../plan/PlanPanel";
import { Icon } from "../parts/Icon";
import parts from "../parts/parts.module.css";
import { canDecide, isActive, usePage } from "../store";
import { LaneView } from "../talk/LaneView";
import { runOf } from "../talk/rows";
import { Cost } from "./Cost";
import styles from "./panel.module.css";
import { otherSources, Sources } from "./Sources";
import { awaitsPlan } from "./turn";
import { Usage } from "./Usage";

export type PanelTab = "plan" | "files" | "sources" | "usage";

export interface PanelView {
  /** Null for the tab that has something to show. */
  readonly tab: PanelTab | null;
  /** An open lane, in place of the plan. */
  readonly lane: { readonly run: string; readonly path: string } | null;
  /** A source of the answer of a turn. */
  readonly source: { readonly turn: string; readonly n: number } | null;
}

interface PanelProps {
  readonly conversation: Conversation;
  readonly turn: Turn | null;
  readonly view: PanelView;
  readonly onView: (view: PanelView) => void;
  readonly onEditPlan: () => void;
  /** Set where the panel covers the page. */
  readonly onClose?: (() => void) | undefined;
}

const NO_SOURCES: ReadonlyMap<string, Source> = new Map();

/** Plan, files, sources and usage beside the conversation. */
export function Panel({ conversation, turn, view, onView, onEditPlan, onClose }: PanelProps): ReactNode {
  const words = useWords();
  const run = turn?.detail ?? null;
  const isMine = usePage(canDecide);
  const laneRun = view.lane ? runOf(conversation, view.lane.run) : null;
  const files = useMemo(() => {
    const byName = new Map(conversation.files.map((file) => [file.name, file]));
    for (const file of run?.files.values() ?? []) byName.set(file.name, file);
    return [...byName.values()].filter((file) => !file.internal);
  }, [conversation.files, run?.files]);
  const { source } = view;
  const citing = conversation.turns.find((other) => other.key === source?.turn) ?? turn;
  const citations = citing?.citations ?? [];
  const sources = citing?.detail?.sources ?? NO_SOURCES;
  const steps = run?.plan?.steps ?? [];
  const done = steps.filter((step) => step.status === "completed" || step.status === "skipped").length;
  const sourceCount = citations.length + otherSources(citations, sources).length;
  const tab = view.tab ?? (steps.length > 0 || !run || awaitsPlan(run) ? "plan" : sourceCount > 0 ? "sources" : "files");
  const openLane = (path: string): void => {
    const id = laneRun?.id ?? run?.id;
    if (id !== undefined) onView({ ...view, tab: "plan", lane: { run: id, path } });
  };
  return (
    <aside className={styles.panel} aria-label={words.page.panel}>
      <TabProvider selectedId={tab} setSelectedId={(id) => onView({ ...view, tab: toTab(id), lane: null })}>
        <div className={styles.head}>
          <TabList className={styles.tabs}>
            <Tab id="plan" className={styles.tab}>
              {words.plan.tab}{" "}
              {steps.length > 0 ? (
                <span className={styles.count}>
                  {done}/{steps.length}
                </span>
              ) : null}
            </Tab>
            <Tab id="files" className={styles.tab}>
              {words.files.tab} {files.length > 0 ? <span className={styles.count}>{files.length}</span> : null}
            </Tab>
            <Tab id="sources" className={styles.tab}>
              {words.sources.tab} {sourceCount > 0 ? <span className={styles.count}>{sourceCount}</span> : null}
            </Tab>
            <Tab id="usage" className={styles.tab}>
              {words.usage.tab}
            </Tab>
          </TabList>
          {onClose ? (
            <button type="button" className={parts.icon} aria-label={words.page.close} onClick={onClose}>
              <Icon name="close" />
            </button>
          ) : null}
        </div>
        <TabPanel tabId="plan" className={styles.board}>
          {view.lane && laneRun ? (
            <LaneView
              run={laneRun}
              path={view.lane.path}
              onOpen={openLane}
              onBack={() => onView({ ...view, lane: null })}
            />
          ) : run ? (
            <>
              <PlanPanel run={run} onOpenLane={openLane} />
              {run.plan && isActive(turn) && isMine ? (
                <button type="button" className={styles.edit} onClick={onEditPlan}>
                  {words.plan.edit}
                </button>
              ) : null}
            </>
          ) : (
            <p className={styles.none}>{words.plan.none}</p>
          )}
        </TabPanel>
        <TabPanel tabId="files" className={styles.board}>
          <FilesPanel files={files} />
        </TabPanel>
        <TabPanel tabId="sources" className={styles.board}>
          {citing && citing.key !== turn?.key ? <p className={styles.none}>{citing.question}</p> : null}
          <Sources citations={citations} sources={sources} chosen={source?.n ?? null} />
        </TabPanel>
        <TabPanel tabId="usage" className={styles.board}>
          {run ? <Usage key={run.id} run={run} budget={turn?.budget ?? null} hasAudit={isMine} /> : null}
        </TabPanel>
      </TabProvider>
      {run ? <Cost run={run} budget={turn?.budget ?? null} /> : null}
    </aside>
  );
}

function toTab(id: string | null | undefined): PanelTab {
  return id === "files" || id === "sources" || id === "usage" ? id : "plan";
}
