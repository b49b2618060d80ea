// Stories of hostile content: the attacks of `test/attacks.json` in a real browser. A server and a UDP socket stand for
// the attacker; nothing may reach them.

import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { LocalServer } from "./local_server.mjs";
import { ask, conversation, ended } from "./steps.mjs";

const attacks = JSON.parse(readFileSync(new URL("../test/attacks.json", import.meta.url), "utf8"));

/** What a script of an attack does, if it runs: it says so to the page, and leaves a mark. */
const SCRIPT = "top.postMessage({kind:`ran`},`*`);document.documentElement.dataset.ran=1";

/** Frames at once. */
const BATCH = 50;

/** The attacker's own server. Counts what reaches it. */
class Attacker extends LocalServer {
  reached = [];
  /** A page of the attacker's own, which no policy holds. */
  page = "";
  #socket = createSocket("udp4");

  static async start() {
    const attacker = await super.start();
    // Also connections without a request, such as those of `preconnect`.
    attacker.server.on("connection", () => attacker.reached.push("a connection"));
    attacker.#socket.on("message", () => attacker.reached.push("a packet"));
    attacker.#socket.bind(0, "127.0.0.1");
    await once(attacker.#socket, "listening");
    return attacker;
  }

  answer(request, response) {
    this.reached.push(`${request.method} ${request.url}`);
    if (request.url !== "/page") return response.end();
    response.writeHead(200, { "content-type": "text/html" }).end(this.page);
  }

  /** Fills the attacker's address into an attack. */
  fill(attack) {
    const out = this.url;
    return attack
      .replaceAll("{js}", SCRIPT)
      .replaceAll("{out}", out)
      .replaceAll("{udp}", String(this.#socket.address().port));
  }

  close() {
    super.close();
    this.#socket.close();
  }
}

/** Watches a page for everything that an attack may do. Returns a function that lists it. */
async function watch(page, system, attacker) {
  const found = [];
  page.context().on("page", (other) => found.push(`another page: ${other.url()}`));
  page.on("dialog", (dialog) => {
    found.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  // The files of a session come from the bucket, by signed addresses.
  const own = /^(?:data|about|blob):|^http:\/\/127\.0\.0\.1:\d+\/djinn\/tenants\/.*X-Amz-Signature=/;
  const isForeign = (request) => !request.url().startsWith(`${system.url}/`) && !own.test(request.url());
  page.context().on("requestfinished", (request) => isForeign(request) && found.push(`a request: ${request.url()}`));
  // A request that the policy blocks is reported as one, but never leaves the browser.
  page.context().on("requestfailed", (request) => {
    const cause = request.failure()?.errorText ?? "";
    if (isForeign(request) && !/csp|ERR_BLOCKED/.test(cause)) found.push(`a failed request: ${request.url()} ${cause}`);
  });
  page.on("framenavigated", (frame) => {
    const isOwn = frame.url().startsWith(`${system.url}/`) || frame.url() === "about:blank";
    if (!isOwn) found.push(`a frame went to ${frame.url()}`);
  });
  await page.evaluate(() => {
    globalThis.ran = 0;
    addEventListener("message", (event) => event.data?.kind === "ran" && (globalThis.ran += 1));
  });
  return async () => {
    const scripts = await page.evaluate(() => globalThis.ran);
    return [...found, ...attacker.reached, ...(scripts > 0 ? [`${scripts} scripts`] : [])];
  };
}

/** The ways out that a page without a policy has. */
const OPEN_PAGE =
  "<script>{js}</script><img src='{out}/image'>" +
  "<script>const peer=new RTCPeerConnection({iceServers:[{urls:'stun:127.0.0.1:{udp}'}]});peer.createDataChannel('x');" +
  "peer.createOffer().then((offer)=>peer.setLocalDescription(offer))</script>";

/**
 * The control of a story of attacks: the same observers see what a page without a policy does. Returns a function that
 * does so again: what an attack began before has then had the time of a whole way out.
 */
async function startControl(page, system, after) {
  const attacker = await Attacker.start();
  const context = await page.context().browser().newContext();
  after(async () => {
    await context.close();
    attacker.close();
  });
  attacker.page = attacker.fill(OPEN_PAGE);
  const open = await context.newPage();
  await open.addInitScript(() => {
    globalThis.ran = 0;
    addEventListener("message", (event) => event.data?.kind === "ran" && (globalThis.ran += 1));
  });
  const expected = [`a request: ${attacker.url}/image`, "GET /image", "a packet", "1 scripts"];
  return async () => {
    attacker.reached = [];
    const list = await watch(open, system, attacker);
    await open.goto(`${attacker.url}/page`);
    let found = [];
    for (const end = Date.now() + 20_000; Date.now() < end && !expected.every((one) => found.includes(one)); ) found = await list();
    for (const one of expected) assert.ok(found.includes(one), `the observers do not see ${one}: ${found.join(", ")}`);
  };
}

/** Clicks whatever an attack hopes for. */
const clickAll = () => {
  const hopeful = "a, area, button, summary, input, select, [role=link], [onclick], [contenteditable], svg *";
  for (const element of document.querySelectorAll(hopeful)) {
    element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, composed: true }));
    element.focus?.();
  }
  return document.documentElement.dataset.ran ?? document.querySelector("script[src], iframe, object, embed, meta[http-equiv]")?.outerHTML ?? "";
};

export const SAFETY = {
  async html_attacks_in_the_preview_reach_nobody({ page, system, allow, after }) {
    // The policy's reports are what protects the reader.
    allow(/Content Security Policy|Blocked|sandbox|Refused|Not allowed/i);
    const attacker = await Attacker.start();
    after(() => attacker.close());
    const wayOut = await startControl(page, system, after);
    await wayOut();
    await page.goto(system.url);
    const list = await watch(page, system, attacker);
    const all = [...attacks.html, ...attacks.svg, ...attacks.markdown, ...attacks.csv].map((attack) => attacker.fill(attack));
    for (let at = 0; at < all.length; at += BATCH) {
      const batch = all.slice(at, at + BATCH);
      await page.evaluate((texts) => {
        for (const old of document.querySelectorAll("iframe[data-attack]")) old.remove();
        for (const text of texts) {
          const frame = document.createElement("iframe");
          frame.dataset.attack = "";
          frame.src = "/preview.html";
          frame.sandbox.add("allow-scripts");
          addEventListener("message", (event) => {
            if (event.source === frame.contentWindow && event.data?.kind === "ready")
              frame.contentWindow.postMessage({ kind: "show", html: text }, "*");
          });
          document.body.append(frame);
        }
      }, batch);
      const frames = await page.locator("iframe[data-attack]").elementHandles();
      const attack = async (handle, index) => {
        const frame = await handle.contentFrame();
        // The preview's own style shows that it has the text.
        await frame.waitForFunction(() => document.querySelector("style")?.textContent.startsWith("html{font:16px"));
        assert.equal(await frame.evaluate(clickAll), "", batch[index]);
        assert.equal(new URL(frame.url()).pathname, "/preview.html", batch[index]);
      };
      await Promise.all(frames.map(attack));
      assert.deepEqual(await list(), [], `one of ${JSON.stringify(batch)}`);
    }
    // Late refreshes and packets of the last frames, which are still there.
    await wayOut();
    assert.deepEqual(await list(), []);
    await page.evaluate(() => {
      for (const frame of document.querySelectorAll("iframe[data-attack]")) frame.remove();
    });
  },

  async attacks_in_an_answer_and_in_files_reach_nobody({ page, model, system, allow, after }) {
    const attacker = await Attacker.start();
    after(() => attacker.close());
    const files = [
      ["attack.md", "text/markdown", [...attacks.markdown, ...attacks.html].join("\n\n")],
      ["attack.csv", "text/csv", attacks.csv.join("\n")],
      ["attack.html", "text/html", attacks.html.slice(0, 60).join("\n")],
      ...attacks.svg.map((attack, index) => [`attack-${index}.svg`, "image/svg+xml", attack]),
    ];
    // An image that is broken, and the policy's reports.
    allow(/Content Security Policy|Blocked|sandbox|Refused|Failed to load resource/i);
    const answer = attacker.fill([...attacks.markdown, ...attacks.html, ...attacks.texts].join("\n\n"));
    model.on("Attack me", `Here it is.\n\n${answer}`);
    const wayOut = await startControl(page, system, after);
    await page.goto(system.url);
    let list = await watch(page, system, attacker);
    await ask(page, "Attack me");
    await conversation(page).getByText("Here it is.").waitFor();
    await ended(page);
    assert.deepEqual(await list(), []);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.locator("main script, main iframe, main object, main [onclick], main [onerror], main [style*=url]").count(), 0);
    await wayOut();
    assert.deepEqual(await list(), []);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.deepEqual(await list(), []);
    const session = page.url().split("/s/")[1];
    for (const [name, type, content] of files) {
      const body = new FormData();
      body.append("file", new Blob([attacker.fill(content)], { type }), name);
      const response = await fetch(`${system.url}/sessions/${session}/files`, { method: "POST", body });
      assert.equal(response.ok, true, await response.text());
    }
    await page.reload();
    await ended(page);
    list = await watch(page, system, attacker);
    await page.keyboard.press("Alt+KeyP");
    for (const [name] of files) {
      await page.getByRole("complementary").getByRole("tab", { name: /Files/ }).click();
      await page.getByRole("complementary").getByRole("button", { name: new RegExp(`^${name.replace(".", "\\.")}`) }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText(name).first().waitFor();
      if (name.endsWith(".csv")) await dialog.getByRole("table").waitFor();
      if (name.endsWith(".md")) await dialog.getByText("Auto www.evil.example").waitFor();
      assert.deepEqual(await list(), [], name);
      await dialog.getByRole("button", { name: "Close" }).click();
      await dialog.waitFor({ state: "hidden" });
    }
    await wayOut();
    assert.deepEqual(await list(), []);
  },
};
