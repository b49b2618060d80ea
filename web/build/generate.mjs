// Writes src/wire/generated: the types of docs/openapi.json and docs/events.schema.json, and the sentences of error
// codes from messages/*.toml. Runs before each build, so that the page cannot differ from the contract.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";
import openapiTypes, { astToString } from "openapi-typescript";
import { parse } from "smol-toml";

const root = new URL("../../", import.meta.url);
const output = new URL("../src/wire/generated/", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");

mkdirSync(output, { recursive: true });

const openapi = await openapiTypes(JSON.parse(read("docs/openapi.json")), { immutable: true });
writeFileSync(new URL("openapi.ts", output), astToString(openapi));

/** Makes the neighbors of a `$ref` a part of their own: the compiler of types drops one of the two. */
function separateReferences(schema) {
  if (Array.isArray(schema)) return schema.map(separateReferences);
  if (typeof schema !== "object" || schema === null) return schema;
  const { $ref, ...others } = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, separateReferences(value)]),
  );
  if ($ref === undefined) return others;
  return others.properties === undefined ? { $ref, ...others } : { allOf: [{ $ref }, others] };
}

const schema = separateReferences(JSON.parse(read("docs/events.schema.json")));
const events = await compile({ ...schema, title: "EventData" }, "EventData", {
  additionalProperties: false,
  bannerComment: "",
  format: false,
});
writeFileSync(new URL("events.ts", output), events);

for (const language of ["en", "zh"]) {
  const { error } = parse(read(`messages/${language}.toml`));
  const source =
    `import type { components } from "./openapi";\n\n` +
    `const sentences: Readonly<Record<components["schemas"]["ErrorCode"], string>> = ${JSON.stringify(error, null, 2)};\n` +
    `export default sentences;\n`;
  writeFileSync(new URL(`sentences.${language}.ts`, output), source);
}
