import { type ReactNode, useId, useState } from "react";
import type { ErrorInfo } from "../../store/types";
import type { ShareBody } from "../../wire/contract";
import { useLanguage, useWords, type Words } from "../../words";
import { formatDay } from "../../words/numbers";
import { CopyButton } from "../parts/CopyButton";
import { Dialog } from "../parts/Dialog";
import { ErrorBox } from "../parts/ErrorBox";
import parts from "../parts/parts.module.css";
import { conversationOf, useActions, usePage } from "../store";
import styles from "./share.module.css";

/** With whom the open conversation is shared, for reading or writing. */
export function ShareDialog({ onClose }: { onClose: () => void }): ReactNode {
  const words = useWords();
  const shares = usePage((state) => conversationOf(state)?.shares);
  const language = useLanguage();
  const clock = usePage((state) => state.clockOffsetMs);
  const [error, setError] = useState<ErrorInfo | null>(null);
  return (
    <Dialog title={words.share.title} onClose={onClose}>
      <p className={parts.soft}>{words.share.body}</p>
      {shares ? <NewShare onError={setError} /> : <p>{words.page.loading}</p>}
      {error ? <ErrorBox error={error} /> : null}
      {shares && shares.length > 0 ? (
        <ul className={styles.shares} aria-label={words.share.list}>
          {shares.map((share) => (
            <Share key={share.handle} share={share} onError={setError} />
          ))}
        </ul>
      ) : null}
      <p className={styles.filesStay}>{words.share.filesStay(formatDay(endOfFileLinks(Date.now() + clock), language))}</p>
      <div className={parts.end}>
        <button type="button" className={`${parts.button} ${parts.plain}`} onClick={onClose}>
          {words.page.close}
        </button>
      </div>
    </Dialog>
  );
}

interface Failing {
  readonly onError: (error: ErrorInfo | null) => void;
}

function NewShare({ onError }: Failing): ReactNode {
  const words = useWords();
  const actions = useActions();
  const [isForAll, setIsForAll] = useState(false);
  const [user, setUser] = useState("");
  const [canWrite, setCanWrite] = useState(false);
  const [isSending, setIsSending] = useState(false);
  // Only a server with keys knows its users.
  const isUnchecked = usePage(({ config }) => config.state === "ready" && config.value.signIn.kind !== "key");
  const name = user.trim();
  const isReady = (isForAll || name !== "") && !isSending;
  const share = async (): Promise<void> => {
    setIsSending(true);
    const error = await actions.share({ with: isForAll ? "tenant" : { user: name }, write: canWrite });
    setIsSending(false);
    onError(error);
    if (!error) setUser("");
  };
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) void share();
      }}
    >
      <Labelled label={words.share.with}>
        {(id) => (
          <select
            id={id}
            className={parts.field}
            value={isForAll ? "all" : "one"}
            onChange={(event) => setIsForAll(event.target.value === "all")}
          >
            <option value="one">{words.share.oneUser}</option>
            <option value="all">{words.share.allUsers}</option>
          </select>
        )}
      </Labelled>
      {isForAll ? null : (
        <Labelled note={isUnchecked ? words.share.exactly : ""} label={words.share.user}>
          {(id) => (
            <input
              id={id}
              className={parts.field}
              value={user}
              data-autofocus="true"
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => setUser(event.target.value)}
            />
          )}
        </Labelled>
      )}
      <Labelled label={words.share.may}>
        {(id) => (
          <select
            id={id}
            className={parts.field}
            value={canWrite ? "write" : "read"}
            onChange={(event) => setCanWrite(event.target.value === "write")}
          >
            <option value="read">{words.share.read}</option>
            <option value="write">{words.share.write}</option>
          </select>
        )}
      </Labelled>
      <button type="submit" className={`${parts.button} ${parts.go}`} disabled={!isReady}>
        {isSending ? words.requests.sending : words.share.go}
      </button>
    </form>
  );
}

interface LabelledProps {
  readonly label: string;
  readonly note?: string;
  readonly children: (id: string) => ReactNode;
}

function Labelled({ label, note = "", children }: LabelledProps): ReactNode {
  const id = useId();
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      {children(id)}
      {note ? <p className={styles.nameNote}>{note}</p> : null}
    </div>
  );
}

function Share({ share, onError }: Failing & { share: ShareBody }): ReactNode {
  const words = useWords();
  const actions = useActions();
  const [isEnding, setIsEnding] = useState(false);
  const who = audienceOf(share, words);
  const end = async (): Promise<void> => {
    setIsEnding(true);
    const error = await actions.endShare(share.handle);
    // An ended share leaves the list, and this view with it.
    if (error) setIsEnding(false);
    onError(error);
  };
  return (
    <li>
      <span className={styles.who}>
        <bdi>{who}</bdi>
        <span>{share.write ? words.share.write : words.share.read}</span>
      </span>
      <CopyButton label={words.share.copyFor(who)} name={words.share.copy} text={() => addressOf(share.handle)} />
      <button
        type="button"
        className={parts.quiet}
        aria-label={words.share.endFor(who)}
        disabled={isEnding}
        onClick={() => void end()}
      >
        {words.share.end}
      </button>
    </li>
  );
}

const audienceOf = (share: ShareBody, words: Words): string =>
  typeof share.with === "object" ? share.with.user : words.share.allUsers;

const DAY_MS = 86_400_000;

/** Links to files that are made now end at noon of the next day (UTC). */
export const endOfFileLinks = (nowMs: number): number => (Math.floor(nowMs / DAY_MS) + 1.5) * DAY_MS;

/** The address of the conversation for guests. */
const addressOf = (handle: string): string => new URL(`#/s/${handle}`, location.href).href;
