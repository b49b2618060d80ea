import { type ReactNode, useEffect, useMemo, useState } from "react";
import { useWords } from "../../words";
import { hasPreview } from "../files/kinds";
import parts from "../parts/parts.module.css";
import { ObjectFields } from "./Fields";
import styles from "./requests.module.css";
import { isObject, type JsonObject, readSchema, schemaOfValue, withFieldsOf } from "./schema";

interface ArgumentsFormProps {
  readonly original: JsonObject;
  /** The schema of the tool, if the request has one. */
  readonly schema: unknown;
  readonly value: JsonObject;
  /** The arguments whose original value the card's title tells. */
  readonly told?: readonly string[];
  readonly onChange: (value: JsonObject) => void;
  readonly onWrong: (isWrong: boolean) => void;
}

/** Arguments as a form, or as JSON. */
export function ArgumentsForm({ original, schema, value, told = [], onChange, onWrong }: ArgumentsFormProps): ReactNode {
  const words = useWords();
  const [isJson, setIsJson] = useState(false);
  const [json, setJson] = useState("");
  const [isJsonWrong, setIsJsonWrong] = useState(false);
  const [wrong, setWrong] = useState<ReadonlySet<string>>(new Set());
  const fields = useMemo(() => {
    const read = readSchema(schema);
    return withFieldsOf(read.type === "object" ? read : schemaOfValue({}), original);
  }, [schema, original]);

  const isWrong = isJson ? isJsonWrong : wrong.size > 0;
  useEffect(() => onWrong(isWrong), [onWrong, isWrong]);

  // Several fields may report at once.
  const report = (field: string, isWrongField: boolean): void =>
    setWrong((before) => {
      if (before.has(field) === isWrongField) return before;
      const next = new Set(before);
      if (isWrongField) next.add(field);
      else next.delete(field);
      return next;
    });
  const changeJson = (text: string): void => {
    setJson(text);
    const parsed = parseObject(text);
    setIsJsonWrong(parsed === null);
    if (parsed) onChange(parsed);
  };
  const choose = (toJson: boolean): void => {
    if (toJson) setJson(JSON.stringify(value, null, 2));
    setIsJsonWrong(false);
    setWrong(new Set());
    setIsJson(toJson);
  };
  return (
    <div className={`${styles.form} ${styles.arguments}`}>
      {isJson ? (
        <>
          <textarea
            className={`${parts.field} ${parts.isCode} ${isJsonWrong ? parts.isWrong : ""}`}
            aria-label={words.work.arguments}
            aria-invalid={isJsonWrong}
            rows={10}
            value={json}
            spellCheck={false}
            onChange={(event) => changeJson(event.target.value)}
          />
          {isJsonWrong ? <span className={styles.wrong}>{words.requests.badJson}</span> : null}
        </>
      ) : (
        <ObjectFields
          schema={fields}
          value={value}
          original={original}
          told={told}
          fileName={fileNameIn(value)}
          onChange={onChange}
          onWrong={report}
          path=""
        />
      )}
      <div className={styles.choice} role="group">
        <button type="button" aria-pressed={!isJson} onClick={() => choose(false)}>
          {words.requests.asForm}
        </button>
        <button type="button" aria-pressed={isJson} onClick={() => choose(true)}>
          {words.requests.asJson}
        </button>
      </div>
    </div>
  );
}

/** The name of the file that a call writes. */
const fileNameIn = ({ filename }: JsonObject): string | undefined =>
  typeof filename === "string" && hasPreview(filename) ? filename : undefined;

function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
