// Chromium for the stories.

import { existsSync, mkdtempSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const target = new URL("../../target/", import.meta.url).pathname;

/** Places of an installed Chrome, where the packed one does not run. */
const INSTALLED = [
  process.env.CHROME,
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/usr/bin/google-chrome",
  "/usr/bin/chromium",
];

/** Returns the program and its environment; null on a machine without one. */
async function findProgram() {
  if (process.platform === "linux" && process.arch === "x64") {
    const folder = await unpack();
    return { path: join(folder, "chromium"), env: { ...process.env, FONTCONFIG_FILE: join(folder, "fonts.conf") } };
  }
  const path = INSTALLED.find((path) => path !== undefined && existsSync(path));
  return path === undefined ? null : { path, env: process.env };
}

/** The package takes a half-unpacked program for a whole one, so the folder gets its name when it is complete. */
async function unpack() {
  const manifest = new URL("node_modules/@sparticuz/chromium/package.json", import.meta.url);
  const { version } = JSON.parse(readFileSync(manifest, "utf8"));
  const folder = join(target, "chromium", version);
  if (existsSync(folder)) return folder;
  mkdirSync(join(target, "chromium"), { recursive: true });
  const next = mkdtempSync(join(target, "chromium", "next-"));
  const before = process.env.TMPDIR;
  process.env.TMPDIR = next;
  const { default: packed } = await import("@sparticuz/chromium");
  await packed.executablePath();
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  // The package's own list of fonts names only places on Lambda; without a font Chromium ends.
  const fonts = [join(folder, "fonts"), "/usr/share/fonts"].map((path) => `<dir>${path}</dir>`).join("");
  const cache = `<cachedir>${join(folder, "cache")}</cachedir>`;
  writeFileSync(join(next, "fonts.conf"), `<?xml version="1.0"?><fontconfig>${fonts}${cache}</fontconfig>\n`);
  if (existsSync(folder)) rmSync(next, { recursive: true });
  else renameSync(next, folder);
  return folder;
}

/**
 * Starts the browser; null on a machine without one. The package's own arguments are not used: they switch off
 * the web's security, which the stories are about.
 */
export async function startBrowser() {
  const program = await findProgram();
  if (!program) return null;
  const isRoot = process.getuid?.() === 0;
  return chromium.launch({ executablePath: program.path, env: program.env, args: [], chromiumSandbox: !isRoot });
}
