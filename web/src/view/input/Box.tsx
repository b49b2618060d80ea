import { type ClipboardEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import type { Draft, Turn } from "../../store/types";
import { useWords } from "../../words";
import { Icon } from "../parts/Icon";
import parts from "../parts/parts.module.css";
import { conversationOf, isActive, newestTurn, useActions, usePage } from "../store";
import styles from "./input.module.css";
import { ModeChoice, Options } from "./Options";
import { StopButton } from "./StopButton";
import { Uploads } from "./Uploads";

/** The questions that the server takes for a command. */
const CONTINUE = /^\s*(continue|继续)[\s.!?…。！？]*$/i;

/** The box for questions, and for messages to a run at work. */
export function Box(): ReactNode {
  const words = useWords();
  const actions = useActions();
  const draft = usePage((state) => state.draft);
  const hasTurns = usePage((state) => (conversationOf(state)?.turns.length ?? 0) > 0);
  const turn = usePage((state) => newestTurn(conversationOf(state)));
  const isOwner = usePage((state) => conversationOf(state)?.isOwner ?? true);
  const isStopping = usePage((state) => conversationOf(state)?.isStopping ?? false);
  const canWrite = usePage((state) => conversationOf(state)?.canWrite ?? true);
  const hasShareEnded = usePage((state) => conversationOf(state)?.hasShareEnded ?? false);
  const picker = useRef<HTMLInputElement>(null);
  const isUploading = draft.uploads.some((upload) => upload.state === "uploading");
  const failedCount = draft.uploads.filter((upload) => upload.state === "failed").length;
  /** Another user's run is at work: it takes no message, and the session no question beside it. */
  const isOthers = isActive(turn) && turn?.isOwn === false;
  const isWorking = isActive(turn) && !isOthers;
  const canStop = isActive(turn) && (!isOthers || isOwner);
  const isOnItsWay = turn?.status === "sending";
  const isReady = draft.text.trim() !== "" && failedCount === 0 && !isOthers && !isOnItsWay;
  const canSend = isReady && !isUploading;
  const hold = useHold(draft, isReady, isUploading);
  const hasSend = !isWorking || isReady;

  if (hasShareEnded)
    return (
      <p className={styles.readOnly} role="status">
        {words.talk.shareEnded}
      </p>
    );
  if (!canWrite) return <p className={styles.readOnly}>{words.talk.readOnly}</p>;

  const send = (): void => {
    if (!canSend) return hold.start();
    // There is nothing to resume, so the word is a question to the model.
    if (isOver(turn) && CONTINUE.test(draft.text)) actions.setDraft({ text: words.input.goOn });
    actions.send();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.key !== "Enter" || event.shiftKey || event.altKey) return;
    // The Enter that ends an input method's word has the key code 229, also in browsers that end the word first.
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    // On a phone, Enter starts a line; the button sends.
    if (matchMedia("(pointer: coarse)").matches && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    send();
  };
  const onPaste = (event: ClipboardEvent): void => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    actions.addFiles(files);
  };
  const hint = isWorking ? words.input.message : hasTurns ? words.input.followUp : words.input.ask;
  return (
    <form
      className={styles.box}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {isOthers ? <p className={styles.others}>{words.talk.othersRun(turn?.user ?? null)}</p> : null}
      <Uploads uploads={draft.uploads} />
      {failedCount > 0 ? (
        <p className={styles.others} role="alert">
          {words.input.failedFiles(failedCount)}
        </p>
      ) : null}
      {isOnItsWay && draft.text.trim() !== "" ? (
        <p className={styles.others} role="status">
          {words.input.onItsWay}
        </p>
      ) : null}
      {hold.isHeld ? (
        <p className={styles.others} role="status">
          {words.input.held}
        </p>
      ) : null}
      <div className={styles.grow} data-text={draft.text}>
        <textarea
          className={styles.text}
          data-key="box"
          rows={1}
          aria-label={words.input.label}
          placeholder={hint}
          value={draft.text}
          enterKeyHint="enter"
          onChange={(event) => actions.setDraft({ text: event.target.value })}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
      </div>
      <div className={styles.tools}>
        <button
          type="button"
          className={parts.icon}
          aria-label={words.input.add}
          title={words.input.add}
          onClick={() => picker.current?.click()}
        >
          <Icon name="plus" />
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          tabIndex={-1}
          aria-hidden="true"
          onChange={(event) => {
            actions.addFiles([...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
        {isWorking ? null : (
          <>
            <ModeChoice />
            <Options />
          </>
        )}
        <span className={styles.push} />
        {canStop ? (
          <StopButton key={String(hasSend)} isStopping={isStopping} isBesideSend={hasSend} />
        ) : null}
        {hasSend ? (
          <button
            type="submit"
            className={styles.send}
            disabled={!isReady || hold.isHeld}
            aria-label={words.input.send}
            title={words.input.hint}
          >
            <Icon name="send" />
          </button>
        ) : null}
      </div>
    </form>
  );
}

const isOver = (turn: Turn | null): boolean =>
  turn?.status === "finished" || turn?.status === "stopped" || turn?.status === "failed";

/** Holds a question until its files are uploaded. A change of the text or of the files ends the hold. */
function useHold(draft: Draft, isReady: boolean, isUploading: boolean): { isHeld: boolean; start: () => void } {
  const actions = useActions();
  const [held, setHeld] = useState<string | null>(null);
  const content = JSON.stringify([draft.text, draft.uploads.map(({ id }) => id)]);
  const isHeld = isReady && held === content;
  const isDue = isHeld && !isUploading;
  useEffect(() => {
    if (!isHeld) setHeld(null);
  }, [isHeld]);
  useEffect(() => {
    if (isDue) actions.send();
  }, [isDue, actions]);
  return { isHeld, start: () => setHeld(isReady ? content : null) };
}
