// The layers import in one direction: wire, store, view. Words belong to the views.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";

const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  wire: ["wire"],
  store: ["wire", "store"],
  words: ["words", "wire", "store"],
  styles: ["styles"],
  view: ["wire", "store", "words", "styles", "view"],
};

const root = new URL("../src/", import.meta.url).pathname;

it("holds in every file", () => {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
  expect(files.length).toBeGreaterThan(20);
  const wrong = files.flatMap((file) => {
    const source = readFileSync(join(root, file), "utf8");
    const imports = [...source.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map((match) => match[1] ?? "");
    const layers = imports.map((path) => normalize(join(dirname(file), path)).split("/")[0] ?? "");
    const own = file.split("/")[0] ?? "";
    return layers.filter((layer) => !ALLOWED[own]?.includes(layer)).map((layer) => `${file} imports ${layer}`);
  });
  expect(wrong).toEqual([]);
});
