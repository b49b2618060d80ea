// @vitest-environment jsdom
// A part of the page that fails leaves the rest.

import { afterEach, expect, test, vi } from "vitest";
import { Boundary } from "../src/view/parts/Boundary";
import { loadWords } from "../src/words";
import { TestPage } from "./page";

function Broken(): never {
  throw new Error("broken");
}

afterEach(() => void vi.restoreAllMocks());

test.each([
  ["en", "This part of the page could not be loaded.", "Reload"],
  ["zh", "页面的这一部分无法加载。", "重新加载"],
] as const)("a failed part in %s becomes a sentence and a button", async (language, sentence, button) => {
  // React reports the error itself.
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  await loadWords(language);
  const page = new TestPage({}, language);
  await page.show(
    <>
      <p>the rest</p>
      <Boundary>
        <Broken />
      </Boundary>
    </>,
  );
  expect(page.text).toContain("the rest");
  expect(page.text).toContain(sentence);
  expect(page.all(button)).toHaveLength(1);
  await page.close();
});
