/** The part of JSON Schema that forms are made from. */

export interface Schema {
  readonly type: FieldType;
  readonly description: string;
  readonly options: readonly (string | number)[] | null;
  readonly properties: ReadonlyMap<string, Schema>;
  readonly required: ReadonlySet<string>;
  readonly items: Schema | null;
  readonly isWhole: boolean;
}

/** `any` is edited as JSON. */
export type FieldType = "string" | "number" | "boolean" | "object" | "array" | "any";

export type JsonObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const ANY: Schema = {
  type: "any",
  description: "",
  options: null,
  properties: new Map(),
  required: new Set(),
  items: null,
  isWhole: false,
};

/** The deepest level of fields; deeper values are edited as JSON. */
const DEEPEST = 6;

/** Reads a schema; the parts that a form cannot show become `any`. */
export function readSchema(source: unknown, depth = 0): Schema {
  if (!isObject(source) || depth > DEEPEST) return ANY;
  const description = typeof source.description === "string" ? source.description : "";
  const options = readOptions(source);
  const types = Array.isArray(source.type) ? source.type.filter((type) => type !== "null") : [source.type];
  const choices = [source.anyOf, source.oneOf].find(Array.isArray);
  if (choices) {
    const others = choices.filter((choice) => !(isObject(choice) && choice.type === "null"));
    return others.length === 1 ? { ...readSchema(others[0], depth), description } : { ...ANY, description };
  }
  if (options)
    return {
      ...ANY,
      type: options.every((option) => typeof option === "number") ? "number" : "string",
      description,
      options,
    };
  if (types.length !== 1) return { ...ANY, description };
  switch (types[0]) {
    case "string":
      return { ...ANY, type: "string", description };
    case "integer":
    case "number":
      return { ...ANY, type: "number", description, isWhole: types[0] === "integer" };
    case "boolean":
      return { ...ANY, type: "boolean", description };
    case "array":
      return { ...ANY, type: "array", description, items: readSchema(source.items, depth + 1) };
    case "object":
      return {
        ...ANY,
        type: isObject(source.properties) ? "object" : "any",
        description,
        properties: new Map(
          Object.entries(isObject(source.properties) ? source.properties : {}).map(([name, field]) => [
            name,
            readSchema(field, depth + 1),
          ]),
        ),
        required: new Set(
          Array.isArray(source.required) ? source.required.filter((name) => typeof name === "string") : [],
        ),
      };
    default:
      return { ...ANY, description };
  }
}

function readOptions(source: JsonObject): readonly (string | number)[] | null {
  const values = Array.isArray(source.enum) ? source.enum : source.const !== undefined ? [source.const] : null;
  if (!values || values.length === 0) return null;
  return values.every((value) => typeof value === "string" || typeof value === "number") ? values : null;
}

/** Returns the schema of a value without one. */
export function schemaOfValue(value: unknown, depth = 0): Schema {
  if (depth > DEEPEST) return ANY;
  switch (typeof value) {
    case "string":
      return { ...ANY, type: "string" };
    case "number":
      return { ...ANY, type: "number" };
    case "boolean":
      return { ...ANY, type: "boolean" };
    default:
      break;
  }
  if (Array.isArray(value)) {
    const kinds = new Set(value.map((item) => typeof item));
    const isPlain = kinds.size === 1 && !kinds.has("object");
    return isPlain ? { ...ANY, type: "array", items: schemaOfValue(value[0], depth + 1) } : ANY;
  }
  if (!isObject(value)) return ANY;
  return {
    ...ANY,
    type: "object",
    properties: new Map(Object.entries(value).map(([name, field]) => [name, schemaOfValue(field, depth + 1)])),
    required: new Set(Object.keys(value)),
  };
}

/** Completes a schema by the fields of a value that it does not name. */
export function withFieldsOf(schema: Schema, value: JsonObject): Schema {
  const properties = new Map(schema.properties);
  for (const [name, field] of Object.entries(value))
    if (!properties.has(name)) properties.set(name, schemaOfValue(field, 1));
  return { ...schema, type: "object", properties };
}

/** Compares two JSON values by content; the order of fields does not count. */
export function isSame(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((item, index) => isSame(item, right[index]));
  if (!isObject(left) || !isObject(right)) return false;
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => name in right && isSame(left[name], right[name]))
  );
}

/** The first value of a new item. */
export function emptyValue(schema: Schema): unknown {
  if (schema.options) return schema.options[0];
  switch (schema.type) {
    case "string":
      return "";
    case "number":
      return 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return Object.fromEntries(
        [...schema.properties]
          .filter(([name]) => schema.required.has(name))
          .map(([name, field]) => [name, emptyValue(field)]),
      );
    case "any":
      return null;
  }
}
