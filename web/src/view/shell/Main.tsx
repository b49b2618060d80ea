import { lazy, type ReactNode, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import type { Conversation, Turn } from "../../store/types";
import { useWords } from "../../words";
import { OpenFileContext } from "../files/open";
import { Box } from "../input/Box";
import input from "../input/input.module.css";
import { SurroundingsContext, type TextSurroundings } from "../markdown/context";
import type { PanelView } from "../panel/Panel";
import { hasWork, PLANNING, turnOfPanel } from "../panel/turn";
import { Boundary } from "../parts/Boundary";
import { Dialog } from "../parts/Dialog";
import { ErrorBox } from "../parts/ErrorBox";
import parts from "../parts/parts.module.css";
import { canDecide, conversationOf, newestTurn, openRequests, useActions, usePage } from "../store";
import { Empty } from "../talk/Empty";
import { Bar } from "./Bar";
import { FollowLine } from "./FollowLine";
import { showRequest } from "./requestFocus";
import styles from "./shell.module.css";

interface MainProps {
  readonly isNarrow: boolean;
  readonly onMenu: () => void;
}

const Viewer = lazy(() => import("../files/Viewer").then(({ Viewer: view }) => ({ default: view })));
const Tray = lazy(() => import("../requests/Tray").then(({ Tray: view }) => ({ default: view })));
const loadTalk = () => import("../talk/Talk").then(({ Talk: view }) => ({ default: view }));
const Talk = lazy(loadTalk);
const loadPanel = () => import("../panel/Panel").then(({ Panel: view }) => ({ default: view }));
const Panel = lazy(loadPanel);
const PlanDialog = lazy(() => import("../plan/PlanDialog").then(({ PlanDialog: view }) => ({ default: view })));

const ShareDialog = lazy(() => import("../share/ShareDialog").then(({ ShareDialog: view }) => ({ default: view })));

const FIRST_VIEW: PanelView = { tab: null, lane: null, source: null };

/** The conversation with its box, and the panel beside it. */
export function Main({ isNarrow, onMenu }: MainProps): ReactNode {
  const words = useWords();
  const actions = useActions();
  const loaded = usePage((state) => state.conversation);
  const session = usePage((state) => state.route.session);
  const conversation = usePage(conversationOf);
  const turn = newestTurn(conversation);
  const run = turn?.detail ?? null;
  const isMine = usePage(canDecide);
  const [view, setView] = useState(FIRST_VIEW);
  /** Null until the reader decides: the panel is open where it has something to show. */
  const [panelChoice, setPanelChoice] = useState<boolean | null>(null);
  const [fileName, setFileName] = useState<string | null>(null);
  const [isEditing, setIsEditing] = useState(false);
  const [isSharing, setIsSharing] = useState(false);

  // Rows and panel are needed soon, but not for the first picture.
  useEffect(() => void loadTalk().then(loadPanel).catch(() => undefined), []);

  // Another conversation begins with its own view.
  const [shown, setShown] = useState(session);
  if (shown !== session) {
    setShown(session);
    setView(FIRST_VIEW);
    setPanelChoice(null);
    setFileName(null);
    setIsEditing(false);
    setIsSharing(false);
  }

  const files = useFilesByName(conversation);
  const openFile: (name: string) => void = setFileName;
  const showPanel = useCallback(
    (next: PanelView) => {
      setView(next);
      setPanelChoice(true);
    },
    [setView, setPanelChoice],
  );
  const surroundings = useMemo<TextSurroundings>(
    () => ({
      imageOf: (name) => {
        const file = files.get(name);
        return file && /^image\/(png|jpeg|gif|webp)/.test(file.media_type) ? file.preview_url : null;
      },
      hasFile: (name) => files.has(name),
      openFile,
      openSource: (key, n) => showPanel({ tab: "sources", lane: null, source: { turn: key, n } }),
    }),
    [files, openFile, showPanel],
  );
  const panelTurn = turnOfPanel(conversation);
  // What is open stays open while the next question is answered.
  const hasContent = conversation?.turns.some(hasWork) ?? false;
  const opensItself = useOpensItself(turn, hasContent);
  const isPanelOpen = conversation !== null && (panelChoice ?? (opensItself && !isNarrow));
  const file = fileName === null ? null : (files.get(fileName) ?? null);
  const openLane = useCallback(
    (id: string, path: string) => showPanel({ tab: "plan", lane: { run: id, path }, source: null }),
    [showPanel],
  );

  const panel = conversation ? (
    <Boundary>
      <Suspense>
        <Panel
          conversation={conversation}
          turn={panelTurn}
          view={view}
          onView={setView}
          onEditPlan={() => setIsEditing(true)}
          onClose={isNarrow ? () => setPanelChoice(false) : undefined}
        />
      </Suspense>
    </Boundary>
  ) : null;
  return (
    <SurroundingsContext value={surroundings}>
      <OpenFileContext value={openFile}>
        <main className={styles.main} id="talk">
          <Bar
            conversation={conversation}
            isNarrow={isNarrow}
            isPanelOpen={isPanelOpen}
            onMenu={onMenu}
            onShare={() => setIsSharing(true)}
            onPanel={(tab) => {
              if (tab === null) setPanelChoice(!isPanelOpen);
              else showPanel({ tab, lane: null, source: null });
            }}
          />
          {loaded?.state === "failed" && loaded.error.status === 401 ? null : loaded?.state === "failed" ? (
            <div className={styles.failed}>
              <ErrorBox error={loaded.error} onRetry={actions.retry}>
                <button type="button" className={parts.button} onClick={() => actions.open(null)}>
                  {words.rail.newQuestion}
                </button>
              </ErrorBox>
            </div>
          ) : loaded?.state === "loading" ? (
            <p className={styles.loading}>{words.page.loading}</p>
          ) : conversation && conversation.turns.length > 0 ? (
            <Boundary>
              <Suspense fallback={<p className={styles.loading}>{words.page.loading}</p>}>
                <Talk key={conversation.session} conversation={conversation} onOpenLane={openLane} />
              </Suspense>
            </Boundary>
          ) : (
            <Empty />
          )}
          <div className={input.area}>
            <FollowLine following={conversation?.following ?? null} />
            {run && isMine && openRequests(run).length > 0 ? (
              <Boundary>
                <Suspense>
                  <Tray run={run} onShow={() => showRequest(openRequests(run)[0] ?? null)} />
                </Suspense>
              </Boundary>
            ) : null}
            {loaded?.state === "failed" ? null : <Box />}
          </div>
          <div id="layers" className={styles.layers} />
        </main>
        {isPanelOpen && panel ? (
          isNarrow ? (
            <Dialog title={words.page.panel} size="side" isTitleHidden onClose={() => setPanelChoice(false)}>
              {panel}
            </Dialog>
          ) : (
            <div className={styles.panel}>{panel}</div>
          )
        ) : null}
        <Boundary isAbove>
          <Suspense>
            {file ? <Viewer file={file} onClose={() => setFileName(null)} /> : null}
            {isEditing ? <PlanDialog onClose={() => setIsEditing(false)} /> : null}
            {isSharing ? <ShareDialog onClose={() => setIsSharing(false)} /> : null}
          </Suspense>
        </Boundary>
      </OpenFileContext>
    </SurroundingsContext>
  );
}

/**
 * Returns true if the panel opens by itself. It would move the text that is being read, so after a question of this
 * tab it is open from the beginning, or opens with a plan, before the answer.
 */
function useOpensItself(turn: Turn | null, hasContent: boolean): boolean {
  const mode = usePage((state) => state.draft.mode);
  const [asked, setAsked] = useState<{ readonly key: string; readonly isOpen: boolean } | null>(null);
  if (turn?.status === "sending" && asked?.key !== turn.key)
    setAsked({ key: turn.key, isOpen: hasContent || mode === PLANNING });
  if (asked === null || asked.key !== turn?.key) return hasContent;
  return asked.isOpen || (turn.detail?.plan ?? null) !== null;
}

function useFilesByName(conversation: Conversation | null): ReadonlyMap<string, Conversation["files"][number]> {
  const files = conversation?.files;
  const ofRun = newestTurn(conversation)?.detail?.files;
  return useMemo(() => {
    const byName = new Map((files ?? []).map((file) => [file.name, file]));
    for (const file of ofRun?.values() ?? []) byName.set(file.name, file);
    return byName;
  }, [files, ofRun]);
}
