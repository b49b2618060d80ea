// Measures the page in Chromium: `node speed.mjs [NAME]`; `--json` prints the figures for `cargo bench-run`. Times depend
// on the machine and its load, so no check uses them.

import { cpus, loadavg } from "node:os";
import { gzipSync } from "node:zlib";
import { Between, ended, entry, frame, longRun, RUN, SESSION, START, started, USAGE } from "./between.mjs";
import { startBrowser } from "./browser.mjs";
import { System } from "./system.mjs";

const FRAME = 1_000 / 60;
/** Slow 4G, in bytes a second and milliseconds. */
const NETWORK = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 };

const percentile = (values, part) => values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;
const median = (values) => percentile(values, 0.5);
const isJson = process.argv.includes("--json");
const print = isJson ? () => undefined : console.log;
const figures = [];
/** Records a figure of a unit, whose target is at most `most`. */
const record = (name, most, unit, measured, about = "") => {
  figures.push({ name, most, unit, measured, about });
  print(`${name}: ${Math.round(measured * 100) / 100} ${unit} (target ≤ ${most} ${unit}) ${about}`);
};

/** Opens a page that records long tasks, shifts, its largest paint, and the time from each chunk of a stream to its paint. */
async function openPage(browser) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, locale: "en-US" });
  const page = await context.newPage();
  await page.addInitScript(() => {
    const marks = { tasks: [], shift: 0, lcp: 0, paints: [], chunkAt: 0 };
    window.marks = marks;
    const observe = (type, action) => new PerformanceObserver((list) => list.getEntries().forEach(action)).observe({ type, buffered: true });
    observe("longtask", ({ duration }) => marks.tasks.push(duration));
    observe("layout-shift", ({ value, hadRecentInput }) => (marks.shift += hadRecentInput ? 0 : value));
    observe("largest-contentful-paint", ({ startTime }) => (marks.lcp = startTime));
    const { fetch } = window;
    window.fetch = async (...given) => {
      const response = await fetch(...given);
      if (!response.headers.get("content-type")?.startsWith("text/event-stream") || !response.body) return response;
      const seen = new TransformStream({
        transform(chunk, controller) {
          marks.chunkAt ||= performance.now();
          controller.enqueue(chunk);
        },
      });
      return new Response(response.body.pipeThrough(seen), { status: response.status, headers: response.headers });
    };
    // A message that is sent within a frame arrives after its paint.
    const afterPaint = (action) => {
      const channel = new MessageChannel();
      channel.port1.onmessage = action;
      channel.port2.postMessage(null);
    };
    let isInFrame = false;
    const { requestAnimationFrame } = window;
    window.requestAnimationFrame = (action) =>
      requestAnimationFrame((now) => {
        isInFrame = true;
        afterPaint(() => (isInFrame = false));
        action(now);
      });
    addEventListener("DOMContentLoaded", () =>
      new MutationObserver(() => {
        const from = marks.chunkAt;
        if (from === 0) return;
        marks.chunkAt = 0;
        const record = () => marks.paints.push(performance.now() - from);
        // A change within a frame is painted with it, any other with the next one.
        if (isInFrame) afterPaint(record);
        else requestAnimationFrame(() => afterPaint(record));
      }).observe(document.body, { childList: true, subtree: true, characterData: true }),
    );
  });
  return { page, session: await context.newCDPSession(page), close: () => context.close() };
}

/** Sends texts as previews, `perSecond` in `lanes` lanes, for some seconds; then calls back. */
function stream({ perSecond, lanes, seconds, onEnd }) {
  return (response) => {
    response.write(started);
    const paths = Array.from({ length: lanes }, (_, lane) => (lane === 0 ? "" : `t0.c${lane}`));
    for (const child of paths.slice(1)) response.write(entry("child.started", `${child}.started`, { child, description: `Lane ${child}` }));
    const offsets = paths.map(() => 0);
    const begin = performance.now();
    let sent = 0;
    const timer = setInterval(() => {
      const due = Math.min(seconds * perSecond, ((performance.now() - begin) / 1_000) * perSecond);
      let piece = "";
      for (; sent < due; sent += 1) {
        const lane = sent % lanes;
        const text = sent % 40 < lanes ? `word ${sent}.\n\n` : `word ${sent} `;
        const path = paths[lane] ? { path: paths[lane] } : {};
        piece += frame("preview", { message: "t1", attempt: 1, kind: "text", offset: offsets[lane], text, at_ms: START, ...path });
        offsets[lane] += text.length;
      }
      if (piece) response.write(piece);
      if (sent < seconds * perSecond) return;
      clearInterval(timer);
      onEnd?.(response);
    }, 10);
    response.on("close", () => clearInterval(timer));
  };
}

async function firstLoad(browser, system) {
  const loads = [];
  for (let load = 0; load < 5; load += 1) {
    const { page, session, close } = await openPage(browser);
    await session.send("Network.enable");
    await session.send("Network.emulateNetworkConditions", NETWORK);
    await session.send("Emulation.setCPUThrottlingRate", { rate: 4 });
    await page.goto(system.url);
    await page.getByRole("heading", { name: "What do you want to know?" }).waitFor();
    await page.waitForLoadState("networkidle");
    loads.push(await page.evaluate(() => window.marks));
    await close();
  }
  const blocked = loads.map(({ tasks }) => tasks.reduce((sum, task) => sum + Math.max(0, task - 50), 0));
  record("the page on slow 4G, 4 × slower CPU: largest contentful paint", 2.5, "s", median(loads.map(({ lcp }) => lcp)) / 1_000, "median of 5");
  record("the same: blocking time", 200, "ms", median(blocked), "time of tasks beyond 50 ms");
  record("the same: layout shift", 0.05, "", median(loads.map(({ shift }) => shift)));
}

async function deltas(browser, between) {
  const { page, close } = await openPage(browser);
  let isSent;
  const sent = new Promise((resolve) => (isSent = resolve));
  between.events = stream({ perSecond: 25, lanes: 1, seconds: 8, onEnd: () => isSent() });
  await page.goto(`${between.url}/#/s/${SESSION}`);
  await sent;
  const { paints } = await page.evaluate(() => window.marks);
  for (const [part, most] of [[50, 1], [99, 3]]) {
    const frames = percentile(paints, part / 100) / FRAME;
    record(`a delta from socket to paint, p${part}`, most, "frames", frames, "a frame takes 16.7 ms");
  }
  await close();
}

async function longConversation(browser, between) {
  between.events = longRun();
  between.isOver = true;
  const ratios = [];
  const opened = [];
  const sizes = { heap: 0, nodes: 0 };
  for (let load = 0; load < 5; load += 1) {
    const { page, session, close } = await openPage(browser);
    await page.goto(between.url);
    await page.getByRole("heading", { name: "What do you want to know?" }).waitFor();
    await page.waitForLoadState("networkidle");
    const alone = await page.evaluate(async (path) => {
      const from = performance.now();
      const text = await (await fetch(path)).text();
      for (const part of text.split("\n\n")) {
        const data = part.split("\n").find((line) => line.startsWith("data:"));
        if (data) JSON.parse(data.slice(5));
      }
      return performance.now() - from;
    }, `/runs/${RUN}/events`);
    const open = await page.evaluate(async (hash) => {
      const from = performance.now();
      location.hash = hash;
      const isRead = () => document.querySelector("header")?.textContent?.includes("7.0M tokens");
      while (!isRead()) await new Promise((resolve) => requestAnimationFrame(resolve));
      return performance.now() - from;
    }, `#/s/${SESSION}`);
    ratios.push(open / alone);
    opened.push(open);
    await session.send("HeapProfiler.collectGarbage");
    const { metrics } = await session.send("Performance.enable").then(() => session.send("Performance.getMetrics"));
    sizes.heap = metrics.find(({ name }) => name === "JSHeapUsedSize").value;
    sizes.nodes = await page.evaluate(() => document.querySelectorAll("*").length);
    await close();
  }
  const stream = longRun();
  const about = `${Math.round(median(opened))} ms; the stream has ${stream.length} bytes, ${gzipSync(stream).length} compressed`;
  record("a run of 10 000 entries opened, against reading and parsing its stream", 3, "×", median(ratios), about);
  record("the same: heap", 150, "MB", sizes.heap / 1e6);
  record("the same: DOM nodes", 3_000, "", sizes.nodes);
  between.isOver = false;
}

async function busyConversation(browser, between) {
  const { page, close } = await openPage(browser);
  const before = longRun().slice(started.length, -ended.length);
  const live = stream({ perSecond: 500, lanes: 20, seconds: 12 });
  between.events = (response) => {
    response.write(started);
    response.write(before);
    live(response);
  };
  await page.goto(`${between.url}/#/s/${SESSION}`);
  await page.getByRole("button", { name: "To the end" }).waitFor();
  await page.evaluate(() => {
    window.marks.tasks.length = 0;
    window.keys = [];
    addEventListener("keydown", (event) => {
      const from = event.timeStamp;
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => window.keys.push(performance.now() - from);
        channel.port2.postMessage(null);
      });
    });
  });
  const box = page.getByRole("textbox", { name: "Your question" });
  await page.locator("[data-talk]").hover();
  for (let round = 0; round < 40; round += 1) {
    await page.mouse.wheel(0, round < 20 ? 700 : -700);
    await box.press("a");
  }
  const { tasks, keys } = await page.evaluate(() => ({ tasks: window.marks.tasks, keys: window.keys }));
  const longest = tasks.length > 0 ? `the longest ${Math.round(Math.max(...tasks))} ms` : "";
  record("the same with 500 deltas/s in 20 lanes, scrolled and typed into: tasks over 50 ms", 0, "", tasks.length, longest);
  record("the same: key to paint, p95", 2, "frames", percentile(keys, 0.95) / FRAME);
  await close();
}

/** The work of the page for the first and the last 10 kB of an answer of 100 kB. */
async function longAnswer(browser, between) {
  const { page, session, close } = await openPage(browser);
  await session.send("Performance.enable");
  const work = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration").value;
  };
  let response = null;
  const opened = new Promise((resolve) => {
    between.events = (stream) => {
      stream.write(started);
      response = stream;
      resolve();
    };
  });
  await page.goto(`${between.url}/#/s/${SESSION}`);
  await opened;
  let offset = 0;
  const send = async (bytes) => {
    const from = await work();
    for (const end = offset + bytes; offset < end; ) {
      const text = `${"word ".repeat(19)}${offset % 500 < 100 ? "\n\n" : "and "}`;
      response.write(frame("preview", { message: "t1", attempt: 1, kind: "text", offset, text, at_ms: START }));
      offset += text.length;
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    }
    return (await work()) - from;
  };
  await send(1_000);
  const first = await send(10_000);
  await send(79_000);
  const last = await send(10_000);
  record("work per frame at the end of a 100 kB answer, against its beginning", 2, "×", last / first);
  await close();
}

/** Texts that are hard to lex, each as one answer. */
const HOSTILE = {
  "quotes in 500 levels": Array.from({ length: 500 }, (_, level) => `${"> ".repeat(level + 1)}level ${level}`).join("\n"),
  "a table of 20 000 columns": ["a", "---", "b"].map((cell) => `|${`${cell}|`.repeat(20_000)}`).join("\n"),
  "a line of 1 MB": "word ".repeat(200_000),
};

async function hostileTexts(browser, between) {
  between.isOver = true;
  for (const [name, text] of Object.entries(HOSTILE)) {
    between.events = started + entry("message.completed", "t1", { message: "t1", text, usage: USAGE, answer: true }) + ended;
    const { page, close } = await openPage(browser);
    await page.goto(between.url);
    await page.getByRole("heading", { name: "What do you want to know?" }).waitFor();
    await page.waitForLoadState("networkidle");
    await page.evaluate(() => (window.marks.tasks.length = 0));
    await page.evaluate((hash) => (location.hash = hash), `#/s/${SESSION}`);
    await page.getByText("7.0M tokens").first().waitFor();
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    const { tasks } = await page.evaluate(() => window.marks);
    const longest = tasks.length > 0 ? `the longest ${Math.round(Math.max(...tasks))} ms` : "";
    record(`an answer with ${name}: tasks over 50 ms`, 0, "", tasks.length, longest);
    await close();
  }
  between.isOver = false;
}

const browser = await startBrowser();
if (!browser) {
  console.error("*** The page is not measured: no Chromium runs on this machine. Set CHROME to an installed Chrome. ***");
  if (isJson) console.log("[]");
  process.exit(0);
}
const system = await System.start({});
const between = await Between.start(system);
const showLoad = () => print(`${cpus().length} processors, load ${loadavg().map((load) => load.toFixed(1)).join(" ")}, Chromium ${browser.version()}`);
showLoad();
const measures = {
  firstLoad: () => firstLoad(browser, system),
  deltas: () => deltas(browser, between),
  longConversation: () => longConversation(browser, between),
  busyConversation: () => busyConversation(browser, between),
  longAnswer: () => longAnswer(browser, between),
  hostileTexts: () => hostileTexts(browser, between),
};
const part = process.argv.slice(2).find((word) => !word.startsWith("--")) ?? "";
for (const [name, measure] of Object.entries(measures)) if (name.includes(part)) await measure();
showLoad();
if (isJson) console.log(JSON.stringify(figures));
await browser.close();
between.close();
await system.close();
