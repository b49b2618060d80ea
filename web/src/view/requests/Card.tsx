import { memo, type MouseEvent, type ReactNode, useId, useRef, useState } from "react";
import type { Decision, RequestState, ResponseProgress, Run } from "../../store/types";
import { neededKey } from "../../store/run_actions";
import { useLanguage, useWords } from "../../words";
import { formatClock, formatDuration, formatMoney, formatTokens } from "../../words/numbers";
import { laneName } from "../lanes";
import { ErrorBox } from "../parts/ErrorBox";
import { Mark } from "../parts/Mark";
import parts from "../parts/parts.module.css";
import { useServerNow } from "../parts/time";
import { canDecide, conversationOf, newestTurn, useActions, usePage } from "../store";
import { useArmed } from "./armed";
import { CardBody } from "./CardBody";
import { editKey, useCardEdit, useReportWrong } from "./edits";
import { Hidden } from "./Hidden";
import { useReportInView } from "./inView";
import { KeyField } from "./KeyField";
import { kindOf, labelsOf, parametersOf, titleOf } from "./kinds";
import { joinAnswers, readQuestions } from "./answers";
import styles from "./requests.module.css";
import { isSame, type JsonObject } from "./schema";

interface CardProps {
  readonly run: Run;
  readonly state: RequestState;
  readonly progress: ResponseProgress | null;
}

/** A request that waits for the reader. */
export const RequestCard = memo(function RequestCard({ run, state, progress }: CardProps): ReactNode {
  const words = useWords();
  const actions = useActions();
  const foot = useRef<HTMLDivElement>(null);
  const { isArmed, looksArmed } = useArmed(foot);
  const titleId = useId();
  const { request } = state;
  useReportInView(foot, request.id);
  const kind = kindOf(request);
  const labels = labelsOf(kind, words);
  const original = parametersOf(request);
  const key = editKey(run.id, request);
  const [edit, setEdit] = useCardEdit(key);
  const { isSaying, said } = edit;
  // A text that is no value is known to this card only, so that a card shown again begins with the last value.
  // A plan is wrong until its editor has loaded: nobody approves what is not shown.
  const [isWrong, setIsWrong] = useState(kind === "plan");
  useReportWrong(key, isWrong);
  const needed = neededKey(request);
  const isRejected = request.about === "call_interrupt" && request.interrupt.code === "key_rejected";
  /** A key is in no state but this card's own, which ends with the card. */
  const [typedKey, setTypedKey] = useState("");
  const secret = typedKey.trim();
  const value: JsonObject = edit.value ?? original ?? {};
  const setIsSaying = (next: boolean): void => setEdit({ isSaying: next });
  const setSaid = (text: string): void => setEdit({ said: text });
  const isChanged = original !== null && kind !== "ask" && !isSame(value, original);
  const isMine = usePage(canDecide);
  const asker = usePage((page) => newestTurn(conversationOf(page))?.user ?? null);
  const isSending = progress !== null && progress.error === null;
  // The names of agents and tools may come from a model.
  const title = titleOf(request, kind, laneName(run, state.path, words), words);

  const decide = (decision: Decision): void => {
    if (isArmed() && !isSending) actions.respond(request.id, decision);
  };
  const saveKey = (): void => {
    if (needed && secret && isArmed() && !isSending) actions.setKey(request.id, needed, secret);
  };
  const answer = kind === "ask" ? joinAnswers(readQuestions(original).length, edit.answers) : "";
  const go = needed
    ? { label: labels.confirm, isOff: !secret, act: saveKey }
    : kind === "ask"
      ? { label: words.requests.sendAnswer, isOff: !answer, act: () => decide({ kind: "say", text: answer }) }
      : {
          label: isChanged ? labels.modify : labels.confirm,
          isOff: isWrong,
          act: () => decide(isChanged ? { kind: "modify", parameters: value } : { kind: "confirm" }),
        };
  // The conversation shows the words of the run itself right above.
  const isAbove =
    state.path === "" && run.lanes.get("")?.rows.some((row) => row.kind === "message" && row.text === state.reasoning);
  const [asksToStop, setAsksToStop] = useState(false);
  const stop = (event: MouseEvent): void => {
    // The second click of a double click is no second thought.
    if (!isArmed() || event.detail > 1) return;
    if (asksToStop) actions.stop();
    else setAsksToStop(true);
  };
  return (
    <section
      className={isMine ? styles.card : `${styles.card} ${styles.others}`}
      aria-labelledby={titleId}
      data-request={request.id}
      tabIndex={-1}
    >
      <h3 id={titleId} className={styles.title}>
        <Mark kind={isMine ? "ask" : "open"} label={words.rail.markWaiting} />
        <span>{title}</span>
      </h3>
      <Hidden text={title} />
      {state.reasoning && !isAbove ? (
        <div className={styles.why} tabIndex={state.reasoning.length > 400 ? 0 : undefined}>
          <q>{state.reasoning}</q>
          <Hidden text={state.reasoning} />
        </div>
      ) : null}
      <div className={styles.rest}>
        <div className={styles.content}>
          <fieldset className={styles.body} disabled={!isMine}>
            {needed && isMine ? (
              <KeyField needed={needed} isRejected={isRejected} value={typedKey} onChange={setTypedKey} onEnter={saveKey} />
            ) : (
              <CardBody
                kind={kind}
                request={request}
                value={value}
                onChange={(next) => setEdit({ value: next })}
                onWrong={setIsWrong}
                answers={edit.answers}
                onAnswers={(answers) => setEdit({ answers })}
              />
            )}
          </fieldset>
          {progress?.error ? <ErrorBox error={progress.error} /> : null}
        </div>
        <div ref={foot} className={styles.foot}>
          <Facts state={state} isMine={isMine} />
          {!isMine ? (
            <p className={styles.note}>{words.requests.notYours(asker)}</p>
          ) : isSaying && labels.say ? (
            <div className={styles.say}>
              <textarea
                className={parts.field}
                aria-label={words.requests.sayLabel}
                value={said}
                rows={3}
                autoFocus
                onChange={(event) => setSaid(event.target.value)}
              />
              <div className={styles.acts}>
                <button
                  type="button"
                  className={`${parts.button} ${parts.go}`}
                  disabled={!said.trim() || isSending}
                  aria-disabled={!looksArmed}
                  onClick={() => decide({ kind: "say", text: said.trim() })}
                >
                  {words.requests.saySend}
                </button>
                <button type="button" className={`${parts.button} ${parts.plain}`} onClick={() => setIsSaying(false)}>
                  {words.page.back}
                </button>
              </div>
            </div>
          ) : (
            <div className={styles.acts}>
              <button
                type="button"
                className={`${parts.button} ${parts.go}`}
                disabled={go.isOff || isSending}
                aria-disabled={!looksArmed}
                onClick={go.act}
              >
                {isSending ? words.requests.sending : go.label}
              </button>
              {needed ? (
                <button
                  type="button"
                  className={parts.button}
                  disabled={isSending}
                  aria-disabled={!looksArmed}
                  onClick={() => decide({ kind: "confirm" })}
                >
                  {words.requests.keyIsSet}
                </button>
              ) : null}
              <button
                type="button"
                className={parts.button}
                disabled={isSending}
                aria-disabled={!looksArmed}
                onClick={() => decide({ kind: "skip" })}
              >
                {labels.skip}
              </button>
              {labels.say ? (
                <button
                  type="button"
                  className={`${parts.button} ${parts.plain}`}
                  disabled={isSending}
                  aria-disabled={!looksArmed}
                  onClick={() => isArmed() && setIsSaying(true)}
                >
                  {labels.say}
                </button>
              ) : null}
              <button
                type="button"
                className={`${parts.button} ${asksToStop ? parts.danger : parts.plain}`}
                aria-disabled={!looksArmed}
                onClick={stop}
                onBlur={() => setAsksToStop(false)}
              >
                {asksToStop ? words.requests.stopNow : words.requests.stopAll}
              </button>
            </div>
          )}
        </div>
      </div>
    </section>
  );
});

function Facts({ state, isMine }: { state: RequestState; isMine: boolean }): ReactNode {
  const words = useWords();
  const { request } = state;
  const { estimate } = request;
  const expires = request.expires_at_ms ?? null;
  const left = useServerNow(expires !== null);
  const parts = [
    estimate.tokens > 0 ? words.requests.tokens(formatTokens(estimate.tokens)) : "",
    estimate.ms > 0 ? formatDuration(estimate.ms) : "",
    estimate.calls > 1 ? words.requests.outside(estimate.calls) : "",
    estimate.micro_usd ? formatMoney(estimate.micro_usd) : "",
  ].filter(Boolean);
  // A question or an interruption asks for no consent.
  const consents = (request.reasons ?? []).filter((reason) => reason !== "clarification");
  const asksConsent = consents.length > 0 || request.risk !== "low";
  const { on_timeout: action } = request;
  const timeLeft = !isMine || !action ? words.requests.expires : words.requests.atTimeout[action];
  const reasons = consents.map((reason) => words.requests.reasons[reason]);
  return (
    <div className={styles.facts}>
      {asksConsent ? (
        <span className={request.risk === "low" ? undefined : styles.risk}>{words.requests.risk[request.risk]}</span>
      ) : null}
      {parts.length > 0 ? <span>{words.requests.estimate(parts.join(" · "))}</span> : null}
      {reasons.length > 0 ? <span>{words.requests.because(reasons)}</span> : null}
      <span>
        {expires === null
          ? words.requests.waitsForever
          : expires > left
            ? timeLeft(formatClock(expires - left))
            : words.requests.expired}
      </span>
    </div>
  );
}

/** The name of the only user of a laptop, or the signed-in user's own. */
const isMe = (name: string, user: string): boolean => name === "you" || name === user;

/** A request that has been decided, as one line. */
export function ResolvedLine({ run, state }: { run: Run; state: RequestState }): ReactNode {
  const words = useWords();
  const language = useLanguage();
  const { resolution, request } = state;
  const user = usePage((page) => page.conversations.user);
  const kind = kindOf(request);
  const who = laneName(run, state.path, words);
  const by = !resolution
    ? ""
    : resolution.via === "link"
      ? words.requests.byLink
      : resolution.via === "mcp"
        ? words.requests.byModel
        : resolution.by
          ? isMe(resolution.by, user)
            ? words.requests.byYou
            : words.requests.by(resolution.by)
          : resolution.response_id
            ? ""
            : words.requests.timeout;
  const isRetry = kind === "key" || kind === "call_interrupt" || kind === "model_interrupt";
  const result = !resolution
    ? words.requests.closed
    : isRetry && resolution.response === "confirm"
      ? words.requests.retried
      : kind === "result" && resolution.response === "confirm"
        ? words.requests.accepted
        : words.requests.resolved[resolution.response];
  const said = resolution && "text" in resolution && typeof resolution.text === "string" ? resolution.text : "";
  const separator = language === "zh" ? "，" : " ";
  return (
    <div className={styles.resolved}>
      <span>{titleOf(request, kind, who, words)}</span>
      {request.about === "result_review" || request.about === "step_review" ? <bdi>{request.details.slice(0, 80)}</bdi> : null}
      <b>{[result, by].filter(Boolean).join(separator)}</b>
      {said ? <q>{said.slice(0, 200)}</q> : null}
    </div>
  );
}
