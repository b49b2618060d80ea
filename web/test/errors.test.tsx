// @vitest-environment jsdom
// Errors: what happened, in both languages, how long to wait, and what can be done.

import { act } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { EMPTY_TURN, turnOf } from "../src/store/turns";
import type { ErrorInfo } from "../src/store/types";
import { ErrorBox } from "../src/view/parts/ErrorBox";
import { Usage } from "../src/view/panel/Usage";
import { End } from "../src/view/talk/End";
import { loadWords } from "../src/words";
import { offlineError, RequestError } from "../src/wire/error";
import sentences from "../src/wire/generated/sentences.en";
import { Routes } from "../src/wire/routes";
import { Server } from "../src/wire/server";
import { uploadFile } from "../src/wire/upload";
import { runOf, TestPage } from "./page";

const pages: TestPage[] = [];
afterEach(async () => {
  await Promise.all(pages.splice(0).map((page) => page.close()));
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function newPage(...given: ConstructorParameters<typeof TestPage>): TestPage {
  const page = new TestPage(...given);
  pages.push(page);
  return page;
}

const error = (change: Partial<ErrorInfo>): ErrorInfo => ({ ...offlineError(""), code: "overloaded" as never, status: 429, requestId: "req_1", ...change });

test.each(["en", "zh"] as const)("each code has a sentence in %s, with its code and the id of the request", async (language) => {
  await loadWords(language);
  const page = newPage({}, language);
  const codes = Object.keys(sentences) as ErrorInfo["code"][];
  expect(codes.length).toBeGreaterThan(60);
  for (const code of [...codes, "offline", "unreadable"] as const) {
    await page.show(<ErrorBox error={error({ code, detail: "the detail" })} />);
    const [, sentence = "", facts = ""] = [...page.element.querySelectorAll("[role=group] > div")].map(({ textContent }) => textContent);
    expect(sentence).not.toMatch(/[{}]|^\s*$/);
    expect(sentence, code).toMatch(language === "zh" ? /\p{Script=Han}|^the detail[.。]$/u : /^(?:[A-Z`]|the detail).*(?:[.!?]|the detail)$/s);
    expect(facts).toContain(code);
    expect(facts).toContain("req_1");
  }
});

test("the wait of an error is counted down, and that of the next error anew", async () => {
  vi.useFakeTimers();
  const page = newPage();
  const shown = (info: ErrorInfo) => page.show(<ErrorBox error={info} onRetry={() => undefined} />);
  const button = () => page.element.querySelector("button");
  await shown(error({ isRetryable: true, retryAfterS: 3 }));
  expect(button()?.textContent).toContain("3");
  await act(() => vi.advanceTimersByTimeAsync(2_000));
  expect([button()?.textContent.includes("1"), button()?.disabled]).toEqual([true, true]);
  await shown(error({ isRetryable: true, retryAfterS: 30 }));
  expect(button()?.textContent).toContain("30");
  await act(() => vi.advanceTimersByTimeAsync(30_000));
  expect(button()?.disabled).toBe(false);
});

test("a busy session offers to follow the other run, and to stop it", async () => {
  const page = newPage();
  const busy = error({ code: "session_busy", status: 409, isRetryable: true, run: "run_9" });
  await page.show(<End turn={{ ...EMPTY_TURN, key: "r1", question: "Q", status: "unsent", error: busy }} />);
  expect(page.all("Follow it")).toHaveLength(1);
  await page.press("Stop it and ask");
  expect(page.calls).toEqual([["stopOther", "r1"]]);
  const status = (): string | undefined => page.element.querySelector("[role=status]")?.textContent;
  expect(status()).toBe("");
  await page.change({ isStopping: true });
  expect([status(), page.find("Stop it and ask").getAttribute("aria-disabled")]).toEqual([
    "The other run is being stopped; then your question is asked.",
    "true",
  ]);
  await page.change({ isStopping: false });
  // A guest stops only their own runs.
  await page.change({ isOwner: false });
  expect([page.all("Follow it").length, page.all("Stop it and ask").length]).toEqual([1, 0]);
  await page.change({ turns: [{ ...EMPTY_TURN, key: "r0", run: "run_9", isOwn: true }] });
  expect(page.all("Stop it and ask")).toHaveLength(1);
});

test("usage reads the limits when it is opened", async () => {
  const page = newPage();
  const run = runOf([{ id: "start", at_ms: 1, type: "run.started", session: "s1", request: "r1", question: "Q", mode: "react" }]);
  await page.show(<Usage run={run} budget={null} hasAudit={false} />);
  expect(page.calls).toEqual([["refreshBudget"]]);
});

test("an upload with a key that is no longer accepted asks for another one", async () => {
  const seen: [number, string | null][] = [];
  const server = new Server(
    () => Promise.reject(new Error("not this way")),
    (response, key) => {
      seen.push([response.status, key]);
      return false;
    },
  );
  server.setKey("old");
  vi.stubGlobal(
    "XMLHttpRequest",
    class {
      readonly upload = {};
      readonly status = 401;
      readonly responseText = JSON.stringify({ code: "credentials_refused", message: "", detail: "", retryable: false });
      onload: () => void = () => undefined;
      open(): void {}
      setRequestHeader(): void {}
      send(): void {
        this.onload();
      }
    },
  );
  const sent = uploadFile(new Routes(server), "s1", new File(["a"], "a.txt"), () => undefined, new AbortController().signal);
  const failure: unknown = await sent.catch((caught: unknown) => caught);
  expect(failure instanceof RequestError && failure.info.code).toBe("credentials_refused");
  expect(seen).toEqual([[401, "old"]]);
});

/** A server that accepts one key, and what it received. Each rejection calls `onRejected`. */
function serverWith(accepted: string, onRejected: (server: Server) => boolean): { server: Server; sent: string[] } {
  const sent: string[] = [];
  const server: Server = new Server(
    (path, { method, headers }) => {
      const { authorization } = headers as Record<string, string>;
      sent.push(`${method} ${path} ${authorization}`);
      const isAccepted = authorization === `Bearer ${accepted}`;
      return Promise.resolve(Response.json({ code: "credentials_refused" }, { status: isAccepted ? 200 : 401 }));
    },
    (response) => response.status === 401 && onRejected(server),
  );
  server.setKey("old");
  return { server, sent };
}

test("a rejected request is sent again with a token that was renewed, whatever it does", async () => {
  const { server, sent } = serverWith("new", (server) => {
    server.setKey("new");
    return true;
  });
  await server.send("POST", "/runs", { body: {} });
  expect(sent).toEqual(["POST /runs Bearer old", "POST /runs Bearer new"]);
});

test("of the requests on their way while another user signs in, only the readings are sent again", async () => {
  for (const [method, count] of [["GET", 2], ["POST", 1]] as const) {
    const { server, sent } = serverWith("new", () => false);
    const sending = server.send(method, "/runs").catch(() => undefined);
    server.setKey("new");
    await sending;
    expect(sent.length).toBe(count);
  }
});

test("a question whose run has expired says so, and shows the files that are left", async () => {
  const file = { name: "left.md", description: "", media_type: "text/markdown", size: 1, preview_url: "/a", download_url: "/a", internal: false };
  const gone = { run: "run_1", request: null, status: "expired", started_at_ms: 1, question: null, answer: null, own: true, files: ["left.md"] };
  const page = newPage({ files: [file] });
  await page.show(<End turn={turnOf(gone as never)} />);
  expect(page.text).toContain("left.md");
  expect(page.text).toMatch(/expired|no longer/i);
  // There is no work to read any more.
  expect(page.all("Show the work")).toEqual([]);
});
