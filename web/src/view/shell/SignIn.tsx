import { type ReactNode, useState } from "react";
import { useLanguage, useWords } from "../../words";
import { sentenceOfError } from "../../words/errors";
import { Dialog } from "../parts/Dialog";
import parts from "../parts/parts.module.css";
import { useActions, usePage } from "../store";
import styles from "./shell.module.css";

/** Asks for a key, leads to the issuer of tokens, or explains why this page cannot sign in. */
export function SignIn(): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const actions = useActions();
  const signIn = usePage((state) => state.signIn);
  const host = usePage(({ config }) => {
    const url = config.state === "ready" ? config.value.signIn.issuer?.url : undefined;
    return url !== undefined && URL.canParse(url) ? new URL(url).host : "";
  });
  const hasDraft = usePage((state) => state.draft.text.trim() !== "");
  const [key, setKey] = useState("");
  const [isRemembered, setIsRemembered] = useState(false);
  const stay = (): void => undefined;
  if (signIn.state === "unsupported") {
    return (
      <Dialog title={words.signIn.iamTitle} onClose={stay}>
        <p className={parts.soft}>{signIn.kind === "iam" ? words.signIn.iam : words.signIn.jwt}</p>
      </Dialog>
    );
  }
  if (signIn.state === "needs_token") {
    return (
      <Dialog title={words.signIn.title} onClose={stay}>
        <div className={styles.signIn}>
          <p className={parts.soft}>
            {words.signIn.issuer(host)} {hasDraft ? words.signIn.draftKept : ""}
          </p>
          {signIn.problem ? (
            <p className={styles.signInError} role="alert">
              {words.signIn.problems[signIn.problem]}
            </p>
          ) : null}
          <div className={parts.end}>
            <button type="button" className={`${parts.button} ${parts.go}`} autoFocus onClick={actions.signInAtIssuer}>
              {words.signIn.go}
            </button>
          </div>
        </div>
      </Dialog>
    );
  }
  if (signIn.state !== "needs_key") return null;
  return (
    <Dialog title={words.signIn.title} onClose={stay}>
      <form
        className={styles.signIn}
        onSubmit={(event) => {
          event.preventDefault();
          if (!key.trim()) return;
          actions.signInWithKey(key.trim(), isRemembered);
          setKey("");
        }}
      >
        <p className={parts.soft}>
          {words.signIn.body} {hasDraft ? words.signIn.draftKept : ""}
        </p>
        <label className={styles.signInField}>
          <span>{words.signIn.key}</span>
          <input
            className={parts.field}
            type="password"
            autoComplete="off"
            autoFocus
            value={key}
            aria-invalid={signIn.error !== null}
            onChange={(event) => setKey(event.target.value)}
          />
        </label>
        {signIn.error ? (
          <p className={styles.signInError} role="alert">
            {signIn.error.code === "credentials_refused"
              ? words.signIn.rejected
              : sentenceOfError(signIn.error, language)}
          </p>
        ) : null}
        <label className={styles.check}>
          <input type="checkbox" checked={isRemembered} onChange={(event) => setIsRemembered(event.target.checked)} />
          {words.signIn.remember}
        </label>
        <div className={parts.end}>
          <button type="submit" className={`${parts.button} ${parts.go}`} disabled={!key.trim()}>
            {words.signIn.go}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
