import { lazy, type ReactNode, Suspense, useEffect, useId, useRef, useState } from "react";
import { useWords } from "../../words";
import { Boundary } from "../parts/Boundary";
import parts from "../parts/parts.module.css";
import { Hidden } from "./Hidden";
import { labelOf } from "./labels";
import styles from "./requests.module.css";
import { emptyValue, isObject, isSame, type Schema } from "./schema";

const Preview = lazy(() => import("../files/Preview").then(({ Preview: view }) => ({ default: view })));

export interface FieldProps {
  readonly name: string;
  readonly schema: Schema;
  readonly value: unknown;
  readonly original: unknown;
  readonly onChange: (value: unknown) => void;
  /** Reports a text that is no value. */
  readonly onWrong: (field: string, isWrong: boolean) => void;
  readonly path: string;
  readonly isRequired: boolean;
  /** The name of the file whose text this is. */
  readonly fileName?: string | undefined;
}

/** A text longer than this is edited in several lines, in UTF-16 units. */
const LONG_TEXT = 64;
const NOTHING: readonly string[] = [];
/** The lines of a long text in view; its reader can enlarge it. */
const MOST_LINES = 5;

export function Field(props: FieldProps): ReactNode {
  const { schema, value } = props;
  if (schema.type === "object" && isObject(value)) return <ObjectField {...props} value={value} />;
  if (schema.type === "array" && Array.isArray(value)) return <ArrayField {...props} value={value} />;
  return <Single {...props} />;
}

function Single(props: FieldProps): ReactNode {
  const { name, schema, value, original, onChange, onWrong, path, isRequired, fileName } = props;
  const words = useWords();
  const label = labelOf(name, words);
  const id = useId();
  /** Counts undone changes: a control after one forgets a text that is no value. */
  const [undone, setUndone] = useState(0);
  const undo = (): void => {
    setUndone(undone + 1);
    onWrong(path, false);
    onChange(original);
  };
  const isChanged = !isSame(value, original);
  const [wantsPreview, setWantsPreview] = useState(false);
  const canPreview = fileName !== undefined && typeof value === "string" && value !== "";
  const isPreview = wantsPreview && canPreview;
  return (
    <div className={styles.field}>
      <label htmlFor={id} title={schema.description || undefined}>
        {label}
        {isChanged ? <span className={styles.changedWord}>{words.requests.changed}</span> : null}
      </label>
      <div className={styles.control}>
        {isPreview ? (
          <Boundary>
            <Suspense>
              <Preview name={fileName} text={value} />
            </Suspense>
          </Boundary>
        ) : (
          <Control key={undone} {...props} id={id} isChanged={isChanged} />
        )}
        <div className={styles.below}>
          {typeof value === "string" ? <Hidden text={value} /> : null}
          {isChanged ? (
            <button
              type="button"
              className={parts.quiet}
              aria-label={`${words.requests.undo}: ${label}`}
              onClick={undo}
            >
              {words.requests.undo}
            </button>
          ) : null}
          {canPreview ? (
            <button type="button" className={parts.quiet} onClick={() => setWantsPreview(!isPreview)}>
              {isPreview ? words.files.source : words.files.rendered}
            </button>
          ) : null}
          {!isRequired && value === undefined ? <span className={styles.unset}>{words.requests.unset}</span> : null}
        </div>
      </div>
    </div>
  );
}

function Control({
  id,
  schema,
  value,
  onChange,
  onWrong,
  path,
  isRequired,
  isChanged,
}: FieldProps & { id: string; isChanged: boolean }): ReactNode {
  const words = useWords();
  const look = `${parts.field} ${isChanged ? parts.isChanged : ""}`;
  if (schema.options) {
    const options = schema.options;
    return (
      <select
        id={id}
        className={look}
        value={value === undefined ? "" : String(value)}
        onChange={(event) => onChange(options.find((option) => String(option) === event.target.value))}
      >
        {isRequired && options.includes(value as string | number) ? null : (
          <option value="">{words.requests.unset}</option>
        )}
        {options.map((option) => (
          <option key={String(option)}>{String(option)}</option>
        ))}
      </select>
    );
  }
  if (schema.type === "boolean") {
    return (
      <select
        id={id}
        className={look}
        value={value === undefined ? "" : String(value)}
        onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value === "true")}
      >
        {isRequired ? null : <option value="">{words.requests.unset}</option>}
        <option value="true">{words.requests.yes}</option>
        <option value="false">{words.requests.no}</option>
      </select>
    );
  }
  if (schema.type === "string" && (typeof value === "string" || value === undefined)) {
    const text = value ?? "";
    const change = (next: string): void => onChange(next === "" && value === undefined ? undefined : next);
    return text.length > LONG_TEXT || text.includes("\n") ? (
      <textarea
        id={id}
        className={`${look} ${parts.isCode}`}
        rows={Math.min(MOST_LINES, Math.max(3, text.split("\n").length))}
        value={text}
        onChange={(event) => change(event.target.value)}
      />
    ) : (
      <input id={id} className={look} value={text} onChange={(event) => change(event.target.value)} />
    );
  }
  return <Parsed id={id} look={look} schema={schema} value={value} onChange={onChange} onWrong={onWrong} path={path} />;
}

/** A number or a JSON value: what is typed may be no value. */
function Parsed({
  id,
  look,
  schema,
  value,
  onChange,
  onWrong,
  path,
}: Pick<FieldProps, "schema" | "value" | "onChange" | "onWrong" | "path"> & { id: string; look: string }): ReactNode {
  const words = useWords();
  const [typed, setTyped] = useState<{ text: string; value: unknown; isWrong: boolean } | null>(null);
  const shown = value === undefined ? "" : JSON.stringify(value, null, 2);
  const isOwn = typed !== null && (typed.isWrong || isSame(typed.value, value));
  const text = isOwn ? typed.text : shown;
  const change = (next: string): void => {
    const parsed = parse(next, schema);
    setTyped({ text: next, value: parsed.value, isWrong: parsed.isWrong });
    if (!parsed.isWrong) onChange(parsed.value);
  };
  const isWrong = isOwn && typed.isWrong;
  const latest = useRef(onWrong);
  latest.current = onWrong;
  // A field that is removed, or has another place now, is not wrong at this one.
  useEffect(() => {
    latest.current(path, isWrong);
    return () => latest.current(path, false);
  }, [path, isWrong]);
  const look2 = `${look} ${isWrong ? parts.isWrong : ""}`;
  const errorId = `${id}-error`;
  return (
    <>
      {schema.type === "number" ? (
        <input
          id={id}
          className={look2}
          inputMode="decimal"
          value={text}
          aria-invalid={isWrong}
          aria-describedby={isWrong ? errorId : undefined}
          onChange={(event) => change(event.target.value)}
        />
      ) : (
        <textarea
          id={id}
          className={`${look2} ${parts.isCode}`}
          rows={Math.min(8, Math.max(2, text.split("\n").length))}
          value={text}
          aria-invalid={isWrong}
          aria-describedby={isWrong ? errorId : undefined}
          onChange={(event) => change(event.target.value)}
        />
      )}
      {isWrong ? (
        <span id={errorId} className={styles.wrong}>
          {words.requests.badValue}
        </span>
      ) : null}
    </>
  );
}

function parse(text: string, schema: Schema): { value: unknown; isWrong: boolean } {
  if (text.trim() === "") return { value: undefined, isWrong: false };
  if (schema.type === "number") {
    const number = Number(text);
    return { value: number, isWrong: !Number.isFinite(number) || (schema.isWhole && !Number.isInteger(number)) };
  }
  try {
    return { value: JSON.parse(text) as unknown, isWrong: false };
  } catch {
    return { value: undefined, isWrong: true };
  }
}

function ObjectField({
  name,
  schema,
  value,
  original,
  onChange,
  onWrong,
  path,
}: FieldProps & { value: Record<string, unknown> }): ReactNode {
  const words = useWords();
  const before = isObject(original) ? original : {};
  return (
    <fieldset className={styles.nested}>
      <legend>{labelOf(name, words)}</legend>
      <ObjectFields schema={schema} value={value} original={before} onChange={onChange} onWrong={onWrong} path={path} />
    </fieldset>
  );
}

/** A field with only one possible value tells nothing. */
const isConstant = (schema: Schema, value: unknown): boolean =>
  schema.options?.length === 1 && schema.options[0] === value;

/** The fields of an object; those without a value, and those that tell nothing, are shown on demand. */
export function ObjectFields({
  schema,
  value,
  original,
  told = NOTHING,
  fileName,
  onChange,
  onWrong,
  path,
}: {
  readonly schema: Schema;
  readonly value: Record<string, unknown>;
  readonly original: Record<string, unknown>;
  /** The fields whose original value is told elsewhere. */
  readonly told?: readonly string[];
  /** The file whose text the field `content` is. */
  readonly fileName?: string | undefined;
  readonly onChange: (value: Record<string, unknown>) => void;
  readonly onWrong: FieldProps["onWrong"];
  readonly path: string;
}): ReactNode {
  const words = useWords();
  const [isWhole, setIsWhole] = useState(false);
  const all = [...schema.properties];
  const isShown = (name: string, field: Schema): boolean => {
    if (isWhole || !isSame(value[name], original[name])) return true;
    if (told.includes(name) || isConstant(field, value[name])) return false;
    return schema.required.has(name) || value[name] !== undefined;
  };
  const shown = all.filter(([name, field]) => isShown(name, field));
  const isLess = shown.length < all.length;
  const fields = shown.map(([name, field]) => (
    <Field
      key={name}
      name={name}
      schema={field}
      value={value[name]}
      original={original[name]}
      isRequired={schema.required.has(name)}
      fileName={name === "content" ? fileName : undefined}
      path={`${path}/${name}`}
      onWrong={onWrong}
      onChange={(next) => {
        const { [name]: _, ...others } = value;
        // Keep the order of the fields.
        onChange(
          next === undefined ? others : name in value ? { ...value, [name]: next } : { ...others, [name]: next },
        );
      }}
    />
  ));
  if (!isLess && !isWhole) return fields;
  const more = path === "" ? words.requests.allArguments : words.requests.moreFields(all.length - shown.length);
  return (
    <>
      {fields}
      <button type="button" className={`${parts.quiet} ${styles.more}`} onClick={() => setIsWhole(!isWhole)}>
        {isWhole ? words.requests.fewerFields : more}
      </button>
    </>
  );
}

function ArrayField({
  name,
  schema,
  value,
  original,
  onChange,
  onWrong,
  path,
}: FieldProps & { value: readonly unknown[] }): ReactNode {
  const words = useWords();
  const items = schema.items;
  const before: readonly unknown[] = Array.isArray(original) ? original : [];
  const addButton = useRef<HTMLButtonElement>(null);
  /** One key per item: after a removal, the fields of the other items stay what they are. */
  const keys = useRef<readonly number[]>([]);
  const newest = keys.current.at(-1) ?? -1;
  const missing = Math.max(0, value.length - keys.current.length);
  keys.current = [...keys.current.slice(0, value.length), ...Array.from({ length: missing }, (_, at) => newest + 1 + at)];
  const remove = (index: number): void => {
    keys.current = keys.current.filter((_, at) => at !== index);
    onChange(value.filter((_, at) => at !== index));
    addButton.current?.focus();
  };
  if (!items || value.length > 50) {
    return (
      <Single
        name={name}
        schema={{ ...schema, type: "any" }}
        value={value}
        original={original}
        onChange={onChange}
        onWrong={onWrong}
        path={path}
        isRequired
      />
    );
  }
  return (
    <fieldset className={styles.nested}>
      <legend>{labelOf(name, words)}</legend>
      {value.map((item, index) => (
        <div key={keys.current[index]} className={styles.item}>
          <Field
            name={String(index + 1)}
            schema={items}
            value={item}
            original={before[index]}
            isRequired
            path={`${path}/${index}`}
            onWrong={onWrong}
            onChange={(next) => onChange(value.map((other, at) => (at === index ? (next ?? null) : other)))}
          />
          <button
            type="button"
            className={parts.quiet}
            aria-label={`${words.requests.removeItem}: ${labelOf(name, words)} ${index + 1}`}
            onClick={() => remove(index)}
          >
            {words.requests.removeItem}
          </button>
        </div>
      ))}
      <button
        ref={addButton}
        type="button"
        className={parts.quiet}
        onClick={() => onChange([...value, emptyValue(items)])}
      >
        {words.requests.addItem}
      </button>
    </fieldset>
  );
}
