// The page's states, for pictures and for axe: each prepares a page until the state is shown.

import { HOME, INSTALLATION } from "./answers.mjs";
import { checkAccess } from "./axe.mjs";
import { Gate } from "./model.mjs";
import { ask, askMe, box, card, choosePlan, conversation, ended, stop, WRITE } from "./steps.mjs";
import { System } from "./system.mjs";

const ANSWER = `Copper is **warm**, zinc is *cold*, and \`tin\` is soft [1].

## Figures

| Metal | Price in euros | Change |
| --- | ---: | ---: |
| Copper | 8 934 | 3.1 % |
| Zinc | 2 711 | −0.4 % |

1. Melt the copper.
2. Add the tin:
   - one part of eight
   - slowly

> Bronze is harder than either.

\`\`\`python
def bronze(copper: float, tin: float) -> float:
    return copper + tin  # in kilograms
\`\`\`

## Sources

- [1] [Of gold and other metals](https://gold.example/warm)`;

const stepsOf = (year) => ({
  command: "create",
  title: "Three metals",
  steps: [
    ...["Copper", "Zinc", "Tin"].map((metal) => `${metal}: look at the price of ${metal.toLowerCase()} in ${year}`),
    "Comparison: compare the three metals in one table",
  ],
  depends_on: [[], [], [], [1, 2, 3]],
});

const QUESTIONS = [{ question: "Which metal do you mean?", choices: ["Copper", "Zinc", "Tin and its alloys"] }, "In which currency?"];

/** Changes the server's words about the session, for states that take another user or a month. */
const changeSession = (page, change) =>
  page.route(/\/sessions\/[0-9a-f]+(\?.*)?$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: change(await response.json()) });
  });

const QUARTERS = ["Metal", ...Array.from({ length: 8 }, (_, at) => `Quarter ${1 + (at % 4)} of ${2023 + Math.floor(at / 4)}`)];
const WIDE = [QUARTERS, QUARTERS.map(() => "---"), ...["Copper", "Zinc", "Tin"].map((metal) => [metal, ...QUARTERS.slice(1).map(() => "8 934")])]
  .map((row) => `| ${row.join(" | ")} |`)
  .join("\n");

/** Asks about the sample data, in a system that keeps the packages for it. */
async function askForData({ page, after }, question) {
  const system = await System.start({ DJINN_HOME: HOME });
  after(() => system.close());
  await page.goto(system.url);
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.getByRole("menuitemradio", { name: "Data query" }).click();
  await ask(page, question);
  await page.locator("[data-chart]").first().waitFor({ timeout: INSTALLATION });
  await ended(page);
}

/** The year of the latest plan: agents of an earlier plan, which may still work, take no replies of a later one. */
let year = 2000;

/** Stops what is at work, so that fewer runs share the processor. */
async function stopAll(system) {
  const { runs } = await (await fetch(`${system.url}/runs?status=running`)).json();
  for (const { run } of runs) await fetch(`${system.url}/runs/${run}/stop`, { method: "POST" });
}

async function startPlan({ page, model, system, after }, gate) {
  after(() => stopAll(system));
  year += 1;
  model.on(`Prices of ${year}:`, { reasoning: "Three metals, three agents." }, "I make a plan.", { tool: "planning", arguments: stepsOf(year) });
  for (const metal of ["copper", "zinc", "tin"]) {
    const task = `look at the price of ${metal} in ${year}`;
    model.on(task, { tool: "file_tool", arguments: { ...WRITE, filename: `${metal}.md` } });
    model.on(task, "The price rose in spring, and fell", gate, " in autumn.");
  }
  await page.goto(system.url);
  await choosePlan(page);
  await ask(page, `Prices of ${year}: compare three metals, one report each, then a table`);
  await gate.reached;
  await page.getByRole("complementary").getByText(/The price rose/).first().waitFor();
}

export const STATES = {
  async empty({ page, demo }) {
    await page.goto(demo.url);
    await page.getByRole("heading", { name: "What do you want to know?" }).waitFor();
  },
  async waiting_for_the_first_word({ page, model, system, gate }) {
    model.on("Which tea", gate, "Green.");
    await page.goto(system.url);
    await ask(page, "Which tea is green?");
    await gate.reached;
  },
  async answer({ page, model, system }) {
    model.on("Which metal", { reasoning: "I look it up." }, { tool: "file_tool", arguments: WRITE });
    model.on("Which metal", ANSWER);
    await page.goto(system.url);
    await ask(page, "Which metal is warm?");
    await conversation(page).getByText("Of gold and other metals").waitFor();
    await ended(page);
  },
  async narration({ page, model, system }) {
    const look = (filename) => ({ tool: "file_tool", arguments: { ...WRITE, filename } });
    model.on("Which metals", "I note the prices of the **first quarter** first, and then look at how they changed.", look("first.md"));
    model.on("Which metals", "The second quarter is next: I compare it with the first one, metal by metal.", look("second.md"));
    model.on("Which metals", ANSWER);
    await page.goto(system.url);
    await ask(page, "Which metals rose?");
    await conversation(page).getByText("Of gold and other metals").waitFor();
    await ended(page);
  },
  async wide_table({ page, model, system }) {
    model.on("All quarters", `These are all quarters.\n\n${WIDE}\n\nMore will follow.`);
    await page.goto(system.url);
    await ask(page, "All quarters");
    await conversation(page).getByText("More will follow.").waitFor();
    await ended(page);
  },
  line_chart: (given) => askForData(given, "2024年各月销量变化趋势如何？"),
  async line_chart_with_its_query_and_menu({ page, ...given }) {
    await STATES.line_chart({ page, ...given });
    await page.getByText("Query", { exact: true }).click();
    await page.getByText(/SELECT/).first().waitFor();
    await page.getByRole("columnheader").first().getByRole("button").click();
    await page.getByRole("button", { name: "Copy table" }).click();
    await page.getByRole("menuitem", { name: "As CSV" }).waitFor();
  },
  pie_chart: (given) => askForData(given, "各地区销售额占比是多少？"),
  bar_chart: (given) => askForData(given, "采购成本最高的前十名商品是什么？"),
  async picture_of_an_answer({ page, model, system }) {
    model.on("Draw it", "The chart shows all metals.");
    model.on("Thank you", "With pleasure.");
    await page.goto(system.url);
    const picture = `data:image/png;base64,${(await page.screenshot({ clip: { x: 0, y: 0, width: 900, height: 500 } })).toString("base64")}`;
    for (const question of ["Draw it", "Thank you"]) {
      await ask(page, question);
      await ended(page);
    }
    const file = { name: "metals.png", size: 55_300, description: "Prices of metals", media_type: "image/png", internal: false, preview_url: picture, download_url: picture };
    const files = (turn) => (turn.question === "Draw it" ? { ...turn, files: [file.name] } : turn);
    await changeSession(page, (body) => ({ ...body, files: [file], turns: body.turns.map(files) }));
    await page.reload();
    await conversation(page).getByText("With pleasure.").waitFor();
    await page.locator("[data-talk]").hover();
    await page.mouse.wheel(0, -10_000);
    await conversation(page).getByRole("img", { name: "Prices of metals" }).waitFor();
  },
  async notices({ page, model, system }) {
    model.on("Which metal", "Copper.");
    await page.goto(system.url);
    await ask(page, "Which metal is warm?");
    await ended(page);
    const body = { code: "store_unavailable", message: "", detail: "the table", retryable: true };
    await page.route(/\/title$/, (route) => route.fulfill({ status: 503, json: body, headers: { "djinn-request-id": "req_1" } }));
    await page.getByRole("button", { name: "Actions for Which metal is warm?" }).first().click();
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("Warm metals");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "That did not work" }).waitFor();
  },
  async file_to_approve({ page, model, system }) {
    model.on("Write it down", "I write.", { tool: "file_tool", arguments: { ...WRITE, filename: "metals.md", content: ANSWER } });
    await page.goto(system.url);
    await askMe(page, "before risky calls");
    await ask(page, "Write it down");
    await card(page, "write a file").getByRole("button", { name: "Preview" }).click();
    await card(page, "write a file").getByRole("heading", { name: "Figures" }).waitFor();
  },
  async three_lanes(given) {
    await startPlan(given, given.gate);
  },
  async lane(given) {
    await startPlan(given, given.gate);
    await given.page.getByRole("complementary").getByRole("button", { name: /Copper/ }).click();
  },
  async usage(given) {
    await startPlan(given, given.gate);
    await given.page.getByRole("tab", { name: "Usage" }).click();
  },
  async plan_editor(given) {
    await startPlan(given, given.gate);
    await given.page.getByRole("button", { name: "Edit plan" }).click();
  },
  async four_requests({ page, demo }) {
    await page.goto(demo.url);
    await page.getByRole("button", { name: /Compare the three regions/ }).click();
    await page.getByText("238 B").waitFor();
    await askMe(page, "before risky calls");
    await box(page).press("Enter");
    await page.getByText("3 requests wait for you", { exact: true }).waitFor();
    await card(conversation(page), "write a file").first().getByRole("textbox", { name: "File name" }).fill("east-2024.md");
  },
  async plan_to_approve({ page, model, system }) {
    model.on("Compare three metals", { tool: "planning", arguments: stepsOf(2000) });
    await page.goto(system.url);
    await choosePlan(page);
    await askMe(page, "before a plan starts");
    await ask(page, "Compare three metals");
    await card(page, "Start this plan?").waitFor();
  },
  async questions({ page, model, system }) {
    model.on("Note the price", "It may be either.", { tool: "ask_user", arguments: { questions: QUESTIONS } });
    await page.goto(system.url);
    await askMe(page, "when something is unclear");
    await ask(page, "Note the price");
    await card(page, "The run asks you").getByRole("button", { name: "Zinc" }).click();
  },
  async interrupted({ page, model, system }) {
    model.on("Anything new", { status: 402, message: "Insufficient Balance" });
    await page.goto(system.url);
    await ask(page, "Anything new?");
    await card(page, "The model was interrupted").waitFor();
  },
  async offline({ page, model, system, gate }) {
    model.on("Which tea", "Green tea is", gate, " green.");
    await page.goto(system.url);
    await ask(page, "Which tea is green?");
    await conversation(page).getByText("Green tea is").waitFor();
    await page.context().setOffline(true);
    await page.getByText("Offline. The run continues without this page.").waitFor();
  },
  async failed({ page, model, system }) {
    model.on("Break it", { status: 400, message: "The model does not take this question." });
    await page.goto(system.url);
    await ask(page, "Break it, please");
    await conversation(page).getByText("The run failed").waitFor();
  },
  async stopped({ page, model, system, gate }) {
    model.on("Never end", "This much was written", gate);
    await page.goto(system.url);
    await ask(page, "Never end");
    await conversation(page).getByText("This much was written").waitFor();
    await stop(page).click();
    await conversation(page).getByText(/^Stopped\./).waitFor();
  },
  async stopped_plan(given) {
    await startPlan(given, given.gate);
    await stop(given.page).click();
    await conversation(given.page).getByText(/^Stopped\./).waitFor();
  },
  async stopping_another_run({ page, model, system, gate }) {
    model.on("A first one", "It is done.");
    model.on("A slow one", "It takes", gate);
    await page.goto(system.url);
    await ask(page, "A first one");
    await ended(page);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await ended(other);
    await ask(other, "A slow one");
    await gate.reached;
    await page.route(/\/stop$/, () => undefined);
    await ask(page, "A quick one");
    await conversation(page).getByRole("button", { name: "Stop it and ask" }).click();
    await conversation(page).getByText(/^The other run is being stopped/).waitFor();
  },
  async expired({ page, model, system }) {
    model.on("Long ago", ANSWER);
    await page.goto(system.url);
    await ask(page, "Long ago, what was warm?");
    await ended(page);
    const expire = (turn) => ({ ...turn, status: "expired", question: null, answer: null, citations: [] });
    await changeSession(page, (body) => ({ ...body, turns: body.turns.map(expire) }));
    await page.reload();
    await conversation(page).getByText("An earlier question").waitFor();
  },
  async read_only({ page, model, system }) {
    model.on("Write for both", { tool: "file_tool", arguments: WRITE });
    await page.goto(system.url);
    await askMe(page, "before risky calls");
    await ask(page, "Write for both");
    await card(page, "write a file").waitFor();
    await changeSession(page, (body) => ({ ...body, write: false, turns: body.turns.map((turn) => ({ ...turn, own: false })) }));
    await page.reload();
    await page.getByText("This conversation is shared with you for reading.").waitFor();
  },
  async turn_of_another_user({ page, model, system }) {
    model.on("Write for both", { tool: "file_tool", arguments: WRITE });
    await page.goto(system.url);
    await askMe(page, "before risky calls");
    await ask(page, "Write for both");
    await card(page, "write a file").waitFor();
    await changeSession(page, (body) => ({ ...body, turns: body.turns.map((turn) => ({ ...turn, own: false, user: "bob" })) }));
    await page.reload();
    await card(page, "write a file").getByText(/bob/).waitFor();
  },
  async sharing({ page, model, variables, after }) {
    const [{ key, entry }, bob] = [System.createKey(), System.createKey("bob")];
    const system = await System.start({ ...variables, DJINN_AUTH: "key", DJINN_API_KEYS: JSON.stringify([entry, bob.entry]) });
    after(() => system.close());
    model.on("To be shared", "For all to see.");
    await page.goto(system.url);
    await page.getByRole("dialog").getByLabel("Key", { exact: true }).fill(key);
    await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await ask(page, "To be shared");
    await ended(page);
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Share this conversation" });
    await dialog.getByLabel("The user's name").fill("bob");
    await dialog.getByLabel("The user's name").press("Enter");
    await dialog.getByRole("button", { name: "Copy link for bob" }).waitFor();
  },
  async not_found({ page, system }) {
    await page.goto(`${system.url}/#/s/${"0".repeat(32)}`);
    await conversation(page).getByText("session_not_found").waitFor();
  },
  async keys({ page, system }) {
    await page.goto(system.url);
    await box(page).waitFor();
    await page.getByRole("button", { name: "Add files" }).focus();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
  },
  async palette({ page, system }) {
    await page.goto(system.url);
    await box(page).waitFor();
    await page.keyboard.press("Control+KeyK");
    await page.getByRole("dialog").getByRole("combobox").waitFor();
  },
  async viewer({ page, model, system }) {
    model.on("Write a table", { tool: "file_tool", arguments: { ...WRITE, filename: "metals.md", content: ANSWER } });
    model.on("Write a table", "It is in metals.md.");
    await page.goto(system.url);
    await ask(page, "Write a table");
    await ended(page);
    await conversation(page).getByRole("button", { name: "metals.md" }).last().click();
    await page.getByRole("dialog").getByText("Figures").waitFor();
  },
};

/** The states with something that no story has open at its end, where each story is checked. */
const OPEN = [
  "notices", "file_to_approve", "lane", "usage", "plan_editor", "four_requests", "plan_to_approve", "questions", "offline",
  "read_only", "sharing", "keys", "palette", "viewer", "stopped_plan", "stopping_another_run", "line_chart_with_its_query_and_menu", "pie_chart", "bar_chart",
];

export const OPEN_STATES = {
  async states_that_no_story_ends_in_are_accessible({ page, after, ...given }) {
    await page.goto(given.system.url);
    await box(page).waitFor();
    const demo = await System.start({});
    after(() => demo.close());
    for (const name of OPEN) {
      const gate = new Gate();
      const closings = [];
      // Drafts, choices and routes of a state are its own.
      const context = await page.context().browser().newContext({ viewport: { width: 1440, height: 900 }, locale: "en-US" });
      context.setDefaultTimeout(60_000);
      const own = await context.newPage();
      try {
        await STATES[name]({ ...given, page: own, demo, gate, after: (close) => closings.push(close) });
        await checkAccess(own);
      } catch (error) {
        throw new Error(`${name}: ${error.message}`, { cause: error });
      } finally {
        gate.open();
        await context.close();
        for (const close of closings) await close();
      }
    }
  },
};
