import { type ReactNode, useId } from "react";
import { useWords } from "../../words";
import parts from "../parts/parts.module.css";
import { Hidden } from "./Hidden";
import { type Question, readQuestions } from "./answers";
import styles from "./requests.module.css";

interface QuestionsProps {
  readonly parameters: unknown;
  readonly answers: readonly string[];
  readonly onAnswers: (answers: readonly string[]) => void;
}

/** A field for each question of the model. */
export function Questions({ parameters, answers, onAnswers }: QuestionsProps): ReactNode {
  const questions = readQuestions(parameters);
  const change = (at: number, text: string): void =>
    onAnswers(questions.map((_, index) => (index === at ? text : (answers[index] ?? ""))));
  return (
    <ol className={styles.questions}>
      {questions.map((question, index) => (
        <li key={index}>
          <QuestionField
            question={question}
            isOnly={questions.length === 1}
            answer={answers[index] ?? ""}
            onAnswer={(text) => change(index, text)}
          />
        </li>
      ))}
    </ol>
  );
}

interface QuestionFieldProps {
  readonly question: Question;
  readonly isOnly: boolean;
  readonly answer: string;
  readonly onAnswer: (answer: string) => void;
}

function QuestionField({ question, isOnly, answer, onAnswer }: QuestionFieldProps): ReactNode {
  const words = useWords();
  const id = useId();
  const isChoice = question.choices.includes(answer);
  return (
    <>
      <label htmlFor={id} className={styles.question}>
        {question.text}
      </label>
      <Hidden text={[question.text, ...question.choices].join("\n")} />
      {question.choices.length > 0 ? (
        <div className={styles.choices} role="group" aria-label={question.text}>
          {question.choices.map((choice) => (
            <button
              key={choice}
              type="button"
              className={parts.button}
              aria-pressed={choice === answer}
              onClick={() => onAnswer(choice === answer ? "" : choice)}
            >
              {choice}
            </button>
          ))}
        </div>
      ) : null}
      <textarea
        id={id}
        className={parts.field}
        placeholder={question.choices.length > 0 ? words.requests.otherAnswer : words.requests.answer}
        rows={isOnly && question.choices.length === 0 ? 3 : 1}
        value={isChoice ? "" : answer}
        onChange={(event) => onAnswer(event.target.value)}
      />
    </>
  );
}
