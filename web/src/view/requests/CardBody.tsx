import { lazy, type ReactNode, Suspense, useState } from "react";
import type { HumanRequest } from "../../store/types";
import { useLanguage, useWords } from "../../words";
import { sentenceOfCode } from "../../words/errors";
import { Markdown } from "../markdown/Markdown";
import { Boundary } from "../parts/Boundary";
import parts from "../parts/parts.module.css";
import { ArgumentsForm } from "./ArgumentsForm";
import { Hidden } from "./Hidden";
import { type RequestKind, schemaOf, toldByTitle } from "./kinds";
import { Questions } from "./Questions";
import styles from "./requests.module.css";
import type { JsonObject } from "./schema";

/** The editor of plans is loaded with the first plan to approve. */
const PlanArguments = lazy(() => import("./PlanArguments").then(({ PlanArguments: view }) => ({ default: view })));

interface CardBodyProps {
  readonly kind: RequestKind;
  readonly request: HumanRequest;
  readonly value: JsonObject;
  readonly onChange: (value: JsonObject) => void;
  readonly onWrong: (isWrong: boolean) => void;
  readonly answers: readonly string[];
  readonly onAnswers: (answers: readonly string[]) => void;
}

/** The part of a card that the reader can change. */
export function CardBody({ kind, request, value, onChange, onWrong, answers, onAnswers }: CardBodyProps): ReactNode {
  const words = useWords();
  const language = useLanguage();
  switch (request.about) {
    case "call":
      if (kind === "ask") return <Questions parameters={request.arguments} answers={answers} onAnswers={onAnswers} />;
      if (kind === "plan")
        return (
          <Boundary>
            <Suspense>
              <PlanArguments value={value} original={request.arguments} onChange={onChange} onWrong={onWrong} />
            </Suspense>
          </Boundary>
        );
      return (
        <ArgumentsForm
          original={request.arguments}
          schema={schemaOf(request)}
          value={value}
          told={toldByTitle(kind)}
          onChange={onChange}
          onWrong={onWrong}
        />
      );
    case "call_interrupt":
      return (
        <>
          <Interrupt message={request.interrupt.message} />
          <ArgumentsForm
            original={request.arguments}
            schema={schemaOf(request)}
            value={value}
            onChange={onChange}
            onWrong={onWrong}
          />
        </>
      );
    case "model_interrupt":
      return <Interrupt message={request.interrupt.message} />;
    case "step_review":
      return (
        <LongText
          label={words.requests.details}
          text={textOf(value.details)}
          original={request.details}
          onChange={(details) => onChange({ details })}
        />
      );
    case "result_review":
      return <Result request={request} value={value} onChange={onChange} />;
    case "budget_extension":
      return (
        <>
          <p className={styles.say}>{sentenceOfCode(request.used_up.code, request.used_up.detail, language)}</p>
          <Offer
            value={value}
            original={{ tokens: request.offer.tokens, micro_usd: request.offer.micro_usd }}
            onChange={onChange}
            onWrong={onWrong}
          />
        </>
      );
  }
}

function Interrupt({ message }: { message: string }): ReactNode {
  return (
    <p className={styles.say}>
      {message}
      <Hidden text={message} />
    </p>
  );
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function LongText({
  label,
  text,
  original,
  onChange,
}: {
  label: string;
  text: string;
  original: string;
  onChange: (text: string) => void;
}): ReactNode {
  return (
    <div className={styles.form}>
      <textarea
        className={`${parts.field} ${text === original ? "" : parts.isChanged}`}
        aria-label={label}
        rows={Math.min(14, Math.max(3, Math.ceil(text.length / 80)))}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
      <Hidden text={text} />
    </div>
  );
}

function Result({
  request,
  value,
  onChange,
}: {
  request: Extract<HumanRequest, { about: "result_review" }>;
  value: JsonObject;
  onChange: (value: JsonObject) => void;
}): ReactNode {
  const words = useWords();
  const [isEditing, setIsEditing] = useState(false);
  const text = textOf(value.text);
  return (
    <>
      <p className={styles.subject}>{request.details}</p>
      {isEditing ? (
        <LongText
          label={words.requests.resultText}
          text={text}
          original={request.text}
          onChange={(next) => onChange({ text: next })}
        />
      ) : (
        <>
          <div className={styles.resultText} tabIndex={0} role="region" aria-label={words.requests.resultText}>
            <Markdown text={text} isWhole isSmall />
          </div>
          <Hidden text={text} />
        </>
      )}
      <div className={styles.acts}>
        <button type="button" className={parts.quiet} aria-pressed={isEditing} onClick={() => setIsEditing(!isEditing)}>
          {isEditing ? words.files.rendered : words.talk.takeBack}
        </button>
        {(request.files ?? []).map((name) => (
          <span key={name} className={styles.fileName}>
            {name}
          </span>
        ))}
      </div>
    </>
  );
}

/** Millionths of a US dollar in one. */
const MICRO = 1_000_000;

/** The amounts of an extension: at most what is offered, and more than nothing. */
function Offer({
  value,
  original,
  onChange,
  onWrong,
}: {
  value: JsonObject;
  original: { tokens: number; micro_usd: number };
  onChange: (value: JsonObject) => void;
  onWrong: (isWrong: boolean) => void;
}): ReactNode {
  const words = useWords();
  const [tokens, setTokens] = useState(() => String(value.tokens));
  const [dollars, setDollars] = useState(() => String(Number(value.micro_usd) / MICRO));
  const [isWrong, setIsWrong] = useState(false);
  const change = (nextTokens: string, nextDollars: string): void => {
    setTokens(nextTokens);
    setDollars(nextDollars);
    const count = Number(nextTokens);
    const money = Math.round(Number(nextDollars) * MICRO);
    const isRight =
      Number.isInteger(count) &&
      count >= 0 &&
      count <= original.tokens &&
      money >= 0 &&
      money <= original.micro_usd &&
      count + money > 0;
    setIsWrong(!isRight);
    onWrong(!isRight);
    if (isRight) onChange({ ...value, tokens: count, micro_usd: money });
  };
  const amount = (name: string, text: string, isChanged: boolean, onText: (text: string) => void): ReactNode => (
    <label className={styles.field}>
      <span>{name}</span>
      <input
        className={`${parts.field} ${isChanged ? parts.isChanged : ""}`}
        inputMode="decimal"
        aria-invalid={isWrong}
        value={text}
        onChange={(event) => onText(event.target.value)}
      />
    </label>
  );
  return (
    <div className={styles.form}>
      {original.tokens > 0
        ? amount(words.requests.tokensField, tokens, value.tokens !== original.tokens, (text) => change(text, dollars))
        : null}
      {original.micro_usd > 0
        ? amount(words.requests.moneyField, dollars, value.micro_usd !== original.micro_usd, (text) =>
            change(tokens, text),
          )
        : null}
      {isWrong ? <span className={styles.wrong}>{words.requests.badOffer}</span> : null}
    </div>
  );
}
