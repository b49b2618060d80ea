// Drafts on the device.

import { expect, test } from "vitest";
import { Drafts, EMPTY_DRAFT } from "../src/store/drafts";

test("a draft keeps the name of a file whose upload ended with the page", () => {
  const kept = new Map<string, string>();
  const write = (name: string, value: string | null): void => void kept.set(name, value ?? "");
  const drafts = new Drafts({ read: (name) => kept.get(name) ?? null, write });
  const uploads = [{ id: "1", name: "a.csv", size: 1, progress: 0.5, state: "uploading" as const, error: null }];
  drafts.save("s", { ...EMPTY_DRAFT, uploads }, "new");
  expect(drafts.load("s").uploads.map(({ name, state }) => [name, state])).toEqual([["a.csv", "failed"]]);
});

test("a conversation keeps its mode without a text, and a new one begins with the last choices", () => {
  const kept = new Map<string, string>();
  const shelf = {
    read: (name: string) => kept.get(name) ?? null,
    write: (name: string, value: string | null) => void (value === null ? kept.delete(name) : kept.set(name, value)),
  };
  const drafts = new Drafts(shelf);
  drafts.save("planned", { ...EMPTY_DRAFT, mode: "plan_solve" }, "new");
  drafts.save("other", { ...EMPTY_DRAFT, mode: "data_query" }, "new");
  drafts.save("new", { ...EMPTY_DRAFT, mode: "react" }, "new");
  expect(drafts.load("planned").mode).toBe("plan_solve");
  expect(drafts.load("other").mode).toBe("data_query");
  expect(drafts.load("new").mode).toBe("react");
  expect([...kept.keys()].sort()).toEqual(["choices", "draft:other", "draft:planned", "drafts"]);
});
