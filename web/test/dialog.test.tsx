// @vitest-environment jsdom
// Dialogs that cover the page are closed by Back.

import { act } from "react";
import { expect, test, vi } from "vitest";
import { Dialog } from "../src/view/parts/Dialog";
import { TestPage } from "./page";

async function goBack(): Promise<void> {
  const gone = new Promise((resolve) => addEventListener("popstate", resolve, { once: true }));
  await act(async () => {
    history.back();
    await gone;
  });
}

test("Back closes the topmost layer alone, and a layer closed by hand leaves no entry", async () => {
  history.replaceState(null, "", "#/s/one");
  const closed = { panel: vi.fn(), file: vi.fn() };
  const page = new TestPage();
  const panel = (
    <Dialog title="Panel" size="side" onClose={closed.panel}>
      <button type="button">Inside</button>
    </Dialog>
  );
  const file = (
    <Dialog title="File" size="full" onClose={closed.file}>
      <button type="button">Inside</button>
    </Dialog>
  );
  await page.show(panel);
  await page.show(
    <>
      {panel}
      {file}
    </>,
  );
  await goBack();
  expect(closed.file).toHaveBeenCalledTimes(1);
  expect(closed.panel).not.toHaveBeenCalled();
  await page.show(panel);
  const left = new Promise((resolve) => addEventListener("popstate", resolve, { once: true }));
  await page.close();
  await left;
  expect(closed.panel).not.toHaveBeenCalled();
  expect(history.state).toBeNull();
  expect(location.hash).toBe("#/s/one");
});
