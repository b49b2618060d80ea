// Drafts on the device.

import { expect, test } from "vitest";
import type { Shelf } from "../src/store/browser";
import { Drafts, EMPTY_DRAFT } from "../src/store/drafts";

class Memory implements Shelf {
  readonly values = new Map<string, string>();
  read = (name: string): string | null => this.values.get(name) ?? null;
  write(name: string, value: string | null): void {
    if (value === null) this.values.delete(name);
    else this.values.set(name, value);
  }
  forget(prefix: string): void {
    for (const name of this.values.keys()) if (name.startsWith(prefix)) this.values.delete(name);
  }
  get names(): readonly string[] {
    return [...this.values.keys()].sort();
  }
}

test("a draft keeps the name of a file whose upload ended with the page", () => {
  const drafts = new Drafts(new Memory(), new Memory());
  const uploads = [{ id: "1", name: "a.csv", size: 1, progress: 0.5, state: "uploading" as const, error: null }];
  drafts.save("s", { ...EMPTY_DRAFT, uploads }, "new");
  expect(drafts.load("s").uploads.map(({ name, state }) => [name, state])).toEqual([["a.csv", "failed"]]);
});

test("a conversation keeps its mode without a text, and a new one begins with the last choices", () => {
  const device = new Memory();
  const drafts = new Drafts(device, new Memory());
  drafts.save("planned", { ...EMPTY_DRAFT, mode: "plan_solve" }, "new");
  drafts.save("other", { ...EMPTY_DRAFT, mode: "data_query" }, "new");
  drafts.save("new", { ...EMPTY_DRAFT, mode: "react" }, "new");
  expect(drafts.load("planned").mode).toBe("plan_solve");
  expect(drafts.load("other").mode).toBe("data_query");
  expect(drafts.load("new").mode).toBe("react");
  expect(device.names).toEqual(["choices", "draft:other", "draft:planned", "drafts"]);
});

test("the draft of a new conversation belongs to its tab, and outlasts a reload", () => {
  const device = new Memory();
  const tab = new Memory();
  new Drafts(device, tab).save("new", { ...EMPTY_DRAFT, text: "half a thought" }, "new");
  expect(new Drafts(device, tab).loadNewSession()).toBe("new");
  expect(new Drafts(device, new Memory()).loadNewSession()).toBe(null);
});

test("nothing that the user wrote is left after a sign-out", () => {
  const [device, tab] = [new Memory(), new Memory()];
  const drafts = new Drafts(device, tab);
  drafts.save("s", { ...EMPTY_DRAFT, text: "secret" }, "new");
  drafts.save("new", { ...EMPTY_DRAFT, text: "secret" }, "new");
  device.write("pending:s", "{}");
  tab.write("edit:run_1/c1/d", "{}");
  drafts.clear();
  expect([device.names, tab.names]).toEqual([[], []]);
});
