/** The questions of a model, and the answer to all of them. */

import { isObject } from "./schema";

export interface Question {
  readonly text: string;
  /** Answers to choose from; empty for an open question. */
  readonly choices: readonly string[];
}

/** Reads the arguments of `ask_user`; a question in another form is shown as JSON. */
export function readQuestions(parameters: unknown): readonly Question[] {
  const asked = isObject(parameters) ? (parameters.questions ?? parameters.question ?? parameters) : parameters;
  return (Array.isArray(asked) ? asked : [asked]).map((question: unknown): Question => {
    const text = isObject(question) ? question.question : question;
    return {
      text: typeof text === "string" ? text : JSON.stringify(question, null, 2),
      choices: isObject(question) ? readChoices(question.choices ?? question.options) : [],
    };
  });
}

function readChoices(source: unknown): readonly string[] {
  const items: readonly unknown[] = Array.isArray(source) ? source : [];
  const texts = items.map((item) => (isObject(item) ? item.label : item));
  return texts.filter((text): text is string => typeof text === "string" && text.trim() !== "");
}

/** Returns one answer: several ones have the numbers of their questions. Empty without any. */
export function joinAnswers(count: number, answers: readonly string[]): string {
  const given = answers.slice(0, count).map((answer) => answer.trim());
  if (count === 1) return given[0] ?? "";
  return given.flatMap((answer, index) => (answer ? [`${index + 1}. ${answer}`] : [])).join("\n");
}
