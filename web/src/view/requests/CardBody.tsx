import { type ReactNode, useState } from "react";
import type { HumanRequest } from "../../store/types";
import { useWords } from "../../words";
import { sentenceOfCode } from "../../words/errors";
import { useLanguage } from "../../words";
import { Markdown } from "../markdown/Markdown";
import parts from "../parts/parts.module.css";
import { ArgumentsForm } from "./ArgumentsForm";
import { Hidden } from "./Fields";
import { type RequestKind, schemaOf } from "./kinds";
import { PlanArguments } from "./PlanArguments";
import styles from "./requests.module.css";
import { isObject, type JsonObject } from "./schema";

interface CardBodyProps {
  readonly kind: RequestKind;
  readonly request: HumanRequest;
  readonly value: JsonObject;
  readonly onChange: (value: JsonObject) => void;
  readonly onWrong: (isWrong: boolean) => void;
  readonly answer: string;
  readonly onAnswer: (text: string) => void;
}

/** The part of a card that the reader can change. */
export function CardBody({ kind, request, value, onChange, onWrong, answer, onAnswer }: CardBodyProps): ReactNode {
  const words = useWords();
  const language = useLanguage();
  switch (request.about) {
    case "call":
      if (kind === "ask") return <Questions parameters={request.arguments} answer={answer} onAnswer={onAnswer} />;
      if (kind === "plan")
        return <PlanArguments value={value} original={request.arguments} onChange={onChange} onWrong={onWrong} />;
      return (
        <ArgumentsForm
          original={request.arguments}
          schema={schemaOf(request)}
          value={value}
          onChange={onChange}
          onWrong={onWrong}
        />
      );
    case "call_interrupt":
      return (
        <>
          <p className={styles.say}>{request.interrupt.message}</p>
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
      return <p className={styles.say}>{request.interrupt.message}</p>;
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

function Questions({
  parameters,
  answer,
  onAnswer,
}: {
  parameters: unknown;
  answer: string;
  onAnswer: (text: string) => void;
}): ReactNode {
  const words = useWords();
  const list = isObject(parameters) && Array.isArray(parameters.questions) ? parameters.questions : [parameters];
  return (
    <div className={styles.form}>
      <ol className={styles.questions}>
        {list.map((question, index) => {
          const text = typeof question === "string" ? question : JSON.stringify(question, null, 2);
          return (
            <li key={index}>
              {text}
              <Hidden text={text} />
            </li>
          );
        })}
      </ol>
      <textarea
        className={parts.field}
        aria-label={words.requests.answer}
        placeholder={words.requests.answer}
        rows={3}
        value={answer}
        onChange={(event) => onAnswer(event.target.value)}
      />
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
        <div className={styles.resultText} tabIndex={0} role="region" aria-label={words.requests.resultText}>
          <Markdown text={text} isWhole isSmall />
        </div>
      )}
      <Hidden text={text} />
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
  const [tokens, setTokens] = useState(String(original.tokens));
  const [dollars, setDollars] = useState(String(original.micro_usd / 1_000_000));
  const change = (nextTokens: string, nextDollars: string): void => {
    const count = Number(nextTokens);
    const money = Math.round(Number(nextDollars) * 1_000_000);
    const isRight =
      Number.isInteger(count) && count >= 0 && count <= original.tokens && money >= 0 && money <= original.micro_usd;
    onWrong(!isRight);
    if (isRight) onChange({ ...value, tokens: count, micro_usd: money });
  };
  return (
    <div className={styles.form}>
      {original.tokens > 0 ? (
        <label className={styles.field}>
          <span>{words.requests.tokensField}</span>
          <input
            className={`${parts.field} ${value.tokens === original.tokens ? "" : parts.isChanged}`}
            inputMode="numeric"
            value={tokens}
            onChange={(event) => {
              setTokens(event.target.value);
              change(event.target.value, dollars);
            }}
          />
        </label>
      ) : null}
      {original.micro_usd > 0 ? (
        <label className={styles.field}>
          <span>{words.requests.moneyField}</span>
          <input
            className={`${parts.field} ${value.micro_usd === original.micro_usd ? "" : parts.isChanged}`}
            inputMode="decimal"
            value={dollars}
            onChange={(event) => {
              setDollars(event.target.value);
              change(tokens, event.target.value);
            }}
          />
        </label>
      ) : null}
    </div>
  );
}
