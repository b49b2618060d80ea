// @vitest-environment jsdom
// Hostile texts of models and users become texts. The stories open the same attacks in a real browser.

import { readFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { parseCsv } from "../src/view/files/csv";
import { FilesPanel } from "../src/view/files/FilesPanel";
import { Cited } from "../src/view/markdown/Cited";
import { Markdown } from "../src/view/markdown/Markdown";
import { Sources } from "../src/view/panel/Sources";
import { PlanPanel } from "../src/view/plan/PlanPanel";
import { spellHidden } from "../src/view/requests/characters";
import { RequestSlot } from "../src/view/requests/Slot";
import { Question } from "../src/view/talk/Question";
import { RowView } from "../src/view/talk/RowView";
import { runOf, TestPage, turnWith } from "./page";

// Read as a file: some texts are no Unicode, which a module cannot contain.
const attacks = JSON.parse(readFileSync("test/attacks.json", "utf8")) as Record<
  "html" | "markdown" | "svg" | "csv" | "texts",
  readonly string[]
>;

const filled = (attack: string): string =>
  attack.replaceAll("{js}", "alert(1)").replaceAll("{out}", "http://evil.example").replaceAll("{udp}", "1");

/** Elements that the page's own views consist of. */
const ELEMENTS = new Set(
  ("a bdi b blockquote br button code dd del div dl dt em figcaption figure h2 h3 h4 h5 h6 hr i img input label li ol " +
    "ol p pre q section select option span strong summary svg path table tbody td textarea th thead tr ul mark aside fieldset legend " +
    "math semantics annotation mrow mi mo mn mtext mspace mstyle msup msub mfrac mpadded merror").split(" "),
);

/** Attributes with an address; all others are inert once `on…`, `style` and these are checked. */
const ADDRESSES = new Set(["href", "src", "srcset", "action", "formaction", "data", "poster", "ping", "srcdoc", "xlink:href"]);

/** Names everything in a document that could run or load. */
function dangersIn(root: Element): string[] {
  return [...root.querySelectorAll("*")].flatMap((element) => {
    const name = element.localName;
    const found = ELEMENTS.has(name) ? [] : [`<${name}>`];
    for (const attribute of element.attributes) {
      const isHandler = /^on/i.test(attribute.name) || attribute.name === "style";
      const isLink = name === "a" && attribute.name === "href" && /^(?:https?:\/\/|mailto:)/.test(attribute.value);
      const isImage = name === "img" && attribute.name === "src" && /^data:image\/(?:png|jpeg|gif|webp);/.test(attribute.value);
      if (isHandler || (ADDRESSES.has(attribute.name) && !isLink && !isImage)) {
        found.push(`<${name} ${attribute.name}="${attribute.value}">`);
      }
    }
    if (name === "a" && element.getAttribute("rel") !== "noopener noreferrer") found.push("<a> without rel");
    return found;
  });
}

const opened: TestPage[] = [];
afterEach(async () => {
  for (const page of opened.splice(0)) await page.close();
});

function newPage(): TestPage {
  const page = new TestPage();
  opened.push(page);
  return page;
}

test("there are enough attacks, and the check finds them", () => {
  expect(attacks.html.length + attacks.markdown.length + attacks.svg.length + attacks.csv.length).toBeGreaterThanOrEqual(200);
  expect(attacks.texts.length).toBeGreaterThanOrEqual(60);
  const parser = new DOMParser();
  const read = (attack: string) => dangersIn(parser.parseFromString(filled(attack), "text/html").documentElement);
  const harmless = attacks.html.filter((attack) => read(attack).every((found) => found === "<head>" || found === "<body>"));
  // Comments, and old attributes without a handler.
  expect(harmless.length).toBeLessThan(10);
});

test.each([...attacks.markdown, ...attacks.html, ...attacks.svg, ...attacks.csv])("%j is text in an answer", async (attack) => {
  const page = newPage();
  const text = filled(attack);
  const citations = [{ n: 1, title: text, url: text }];
  await page.show(
    <Cited citations={citations}>
      <Markdown text={`${text}\n\n[1]`} isWhole />
      <Sources citations={citations} sources={new Map()} chosen={null} />
    </Cited>,
  );
  expect(dangersIn(page.element)).toEqual([]);
});

test("an answer made of all attacks, cut at any point, is text", async () => {
  const page = newPage();
  const text = filled([...attacks.markdown, ...attacks.html].join("\n\n"));
  for (let end = 0; end < text.length; end += 701) {
    await page.show(<Markdown text={text.slice(0, end)} isWhole={false} />);
    expect(dangersIn(page.element)).toEqual([]);
  }
});

test.each(attacks.texts)("%j is a text in questions, names, plans and requests", async (attack) => {
  const page = newPage();
  const text = filled(attack);
  const file = {
    name: text,
    description: text,
    size: 1,
    media_type: "text/plain",
    preview_url: "http://127.0.0.1/p",
    download_url: "http://127.0.0.1/d",
  };
  const estimate = { tokens: 0, ms: 0, calls: 0, ms_p95: 0, tokens_p95: 0, samples: 0 };
  const call = { risk: "low", estimate, digest: text, about: "call", tool: text };
  const run = runOf([
    { id: "start", at_ms: 1, type: "run.started", session: "s1", request: "r1", question: text, mode: text },
    {
      id: "plan",
      at_ms: 2,
      type: "plan.changed",
      plan: {
        title: text,
        steps: [{ id: "s1", stage: text, details: text, status: "in_progress", note: text, depends_on: [], agent: text }],
      },
    },
    { id: "s1.1.start", at_ms: 3, type: "child.started", child: "s1.1", description: text, agent: text },
    { id: "t1.c1", at_ms: 3, type: "call.requested", call: "t1.c1", tool: text, arguments: { [text]: text }, visible: true },
    { id: "said", at_ms: 3, type: "user_message.added", by: text, text },
    {
      id: "requested",
      at_ms: 4,
      type: "human.requested",
      group: "t1",
      reasoning: text,
      risk: "low",
      estimate,
      requests: [
        { ...call, id: "t1.c1", call: "t1.c1", path: "s1.1", arguments: { [text]: text, list: [text] } },
        { ...call, id: "t1.c2", call: "t1.c2", tool: "ask_user", arguments: { questions: [text] } },
        { ...call, id: "t1.c3", call: "t1.c3", tool: "planning", arguments: { title: text, steps: [text], agents: [text] } },
        { ...call, id: "s1.result", about: "result_review", step: "s1", details: text, text, files: [text] },
      ],
    },
  ]);
  const turn = { ...turnWith(run), question: text, user: text, attachments: [text] };
  await page.change({ turns: [turn], files: [file as never] });
  const root = run.lanes.get("");
  const said = root?.rows.find((row) => row.kind === "user_message");
  const work = root?.rows.filter((row) => row.kind === "call" || row.kind === "child") ?? [];
  const nothing = (): void => undefined;
  await page.show(
    <>
      <Question turn={turn} />
      <FilesPanel files={[file as never]} />
      <PlanPanel run={run} onOpenLane={nothing} />
      {said ? <RowView row={{ kind: "said", key: "said", said }} onOpenLane={nothing} /> : null}
      <RowView row={{ kind: "work", key: "work", run: run.id, items: work }} onOpenLane={nothing} />
      {[...run.requests.keys()].map((request) => (
        <RequestSlot key={request} run={run} request={request} />
      ))}
      <Markdown text={text} isWhole />
    </>,
  );
  expect(page.element.querySelectorAll("[data-request]")).toHaveLength(4);
  for (const element of page.element.querySelectorAll<HTMLElement>("a[href^='http://127.0.0.1/']")) element.removeAttribute("download");
  expect(dangersIn(page.element)).toEqual([]);
  // What was asked is shown as it was written, and in requests no character is unseen.
  expect(page.element.querySelector("h2 bdi")?.textContent).toBe(text);
  const hidden = spellHidden(text).filter((piece) => piece.isHidden);
  const cards = [...page.element.querySelectorAll("[data-request]")];
  for (const card of cards) for (const piece of hidden) expect(card.textContent).toContain(`⟨${piece.text}⟩`);
});

test("attacks in a table stay cells of text", () => {
  for (const attack of attacks.csv) {
    const { rows } = parseCsv(filled(attack));
    expect(rows.flat().every((cell) => typeof cell === "string")).toBe(true);
    expect(rows.length).toBeGreaterThan(0);
  }
});
