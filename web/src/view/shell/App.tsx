import { lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from "react";
import { isLoaded, LanguageContext, loadWords, preferredLanguage, useWords } from "../../words";
import { DropZone } from "../input/DropZone";
import { Boundary } from "../parts/Boundary";
import { Dialog } from "../parts/Dialog";
import { ErrorBox } from "../parts/ErrorBox";
import { Rail } from "../rail/Rail";
import { useActions, usePage } from "../store";
import { Announcer } from "./Announcer";
import { KeysDialog, usePageKeys } from "./Keys";
import { Main } from "./Main";
import { useMedia } from "./media";
import { Notices } from "./Notices";
import styles from "./shell.module.css";
import { SignIn } from "./SignIn";

const Palette = lazy(() => import("./Palette").then(({ Palette: view }) => ({ default: view })));

/** One column below this width. */
export const NARROW = "(max-width: 1079px)";

export function App(): ReactNode {
  const fallback = usePage((state) => (state.config.state === "ready" ? state.config.value.language : "en"));
  const language = preferredLanguage(fallback);
  const [, setLoaded] = useState<string | null>(null);
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
    void loadWords(language).then(() => setLoaded(language));
  }, [language]);
  if (!isLoaded(language)) return null;
  return (
    <LanguageContext value={language}>
      <Page />
    </LanguageContext>
  );
}

function Page(): ReactNode {
  const words = useWords();
  const actions = useActions();
  const config = usePage((state) => state.config);
  const isNarrow = useMedia(NARROW);
  const [isMenuOpen, setIsMenuOpen] = useState(false);
  const [hasKeys, setHasKeys] = useState(false);
  const [hasPalette, setHasPalette] = useState(false);
  const onKeys = useCallback(() => setHasKeys(true), []);
  const onPalette = useCallback(() => setHasPalette(true), []);
  usePageKeys({ onKeys, onPalette });
  if (config.state === "failed") {
    return (
      <main className={styles.alone}>
        <h1 className="unseen">{words.page.name}</h1>
        <ErrorBox error={config.error} onRetry={actions.retry} />
      </main>
    );
  }
  return (
    <div className={styles.page}>
      <a className={styles.skip} href="#talk" onClick={skipToTalk}>
        {words.page.skip}
      </a>
      {isNarrow ? null : (
        <div className={styles.rail}>
          <Rail />
        </div>
      )}
      <Main isNarrow={isNarrow} onMenu={() => setIsMenuOpen(true)} />
      {isNarrow && isMenuOpen ? (
        <Dialog title={words.rail.label} size="left" isTitleHidden onClose={() => setIsMenuOpen(false)}>
          <Rail onNavigate={() => setIsMenuOpen(false)} />
        </Dialog>
      ) : null}
      <SignIn />
      <Notices />
      <DropZone />
      <Announcer />
      {hasPalette ? (
        <Boundary isAbove>
          <Suspense>
            <Palette onKeys={onKeys} onClose={() => setHasPalette(false)} />
          </Suspense>
        </Boundary>
      ) : null}
      {hasKeys ? <KeysDialog onClose={() => setHasKeys(false)} /> : null}
    </div>
  );
}

/** The address keeps the conversation, so the link only moves the focus. */
function skipToTalk(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("[data-talk], [data-key=box]")?.focus();
}
