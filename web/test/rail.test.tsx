// @vitest-environment jsdom
// The list of conversations.

import { afterEach, expect, test } from "vitest";
import { Rail } from "../src/view/rail/Rail";
import { TestPage } from "./page";

globalThis.ResizeObserver ??= class {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
};

const pages: TestPage[] = [];
afterEach(() => Promise.all(pages.splice(0).map((page) => page.close())));

test.each([
  [true, false],
  [false, true],
])("a search that finds nothing says so at its end: %s", async (isSearching, isSaid) => {
  const page = new TestPage();
  pages.push(page);
  page.conversations({ isLoading: false, isSearching, search: "zinc" });
  await page.show(<Rail />);
  expect(page.text.includes("No title, question or loaded answer contains this text.")).toBe(isSaid);
});
