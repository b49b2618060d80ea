// Checks a page with axe.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The looks of a page: light, dark, on a phone and on the narrowest one. */
const LOOKS = [
  { colorScheme: "light", width: 1440 },
  { colorScheme: "dark", width: 1440 },
  { colorScheme: "light", width: 360 },
  { colorScheme: "dark", width: 320 },
];

/** Checks the shown state in all looks. No look is wider than its window. */
export async function checkAccess(page) {
  for (const look of LOOKS) {
    await page.emulateMedia({ colorScheme: look.colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width: look.width, height: 900 });
    // Evaluated by the driver, not inserted as a script: the page's policy forbids that.
    const { violations, width } = await page.evaluate(`${axe}; axe.run(document, { iframes: false }).then(({ violations }) => ({
      width: document.documentElement.scrollWidth,
      violations: violations.map(({ id, nodes }) => id + ": " + nodes.map((node) => node.html.slice(0, 200)).join(" ")) }))`);
    if (violations.length > 0) throw new Error(`axe (${JSON.stringify(look)}): ${violations.join("\n")}`);
    if (width > look.width) throw new Error(`the page is ${width} pixels wide in a window of ${look.width}`);
  }
}
