// What is typed into the cards of requests.

import { expect, test } from "vitest";
import { changeEdit, clearEdits, forgetEdits, readEdit } from "../src/store/card_edits";

test("changed arguments outlast a reload until the request is answered", () => {
  const value = { filename: "my-growth.md" };
  changeEdit("run_1/c1/d", { value });
  changeEdit("run_1/c2/d", { said: "Not yet" });
  // A reload begins without the edits in memory.
  clearEdits();
  expect(readEdit("run_1/c1/d").value).toEqual(value);
  expect(readEdit("run_1/c1/other").value).toBe(null);
  forgetEdits("run_1", "c1");
  expect(readEdit("run_1/c1/d").value).toEqual(value);
  clearEdits();
  expect(readEdit("run_1/c1/d").value).toBe(null);
  expect(readEdit("run_1/c2/d").said).toBe("Not yet");
});
