// Compares the sizes of the built page, in bytes of gzip, with their limits.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const FIRST_LOAD = 200_000;
const LATER_CHUNK = 120_000;

const folder = process.env.PAGE_OUT ?? "../target/web";
const size = (name) => gzipSync(readFileSync(join(folder, name)), { level: 9 }).length;
const index = readFileSync(join(folder, "index.html"), "utf8");
const assets = readdirSync(join(folder, "assets")).filter((name) => /\.(js|css)$/.test(name));

const first = assets.filter((name) => index.includes(`/assets/${name}`));
const sum = first.map((name) => size(`assets/${name}`)).reduce((a, b) => a + b, 0);
const largest = assets
  .filter((name) => !first.includes(name))
  .map((name) => ({ name, bytes: size(`assets/${name}`) }))
  .toSorted((a, b) => b.bytes - a.bytes);

console.log(`first load: ${sum} of ${FIRST_LOAD} bytes in ${first.length} files`);
for (const { name, bytes } of largest.slice(0, 3)) console.log(`later: ${bytes} of ${LATER_CHUNK} bytes, ${name}`);
const inline = /<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=/i.exec(index);
if (inline) throw new Error(`index.html has ${inline[0]}, which the page's policy blocks`);
if (first.length === 0) throw new Error("index.html names no assets");
if (sum > FIRST_LOAD) throw new Error("the first load is too large");
if ((largest[0]?.bytes ?? 0) > LATER_CHUNK) throw new Error(`${largest[0].name} is too large`);
