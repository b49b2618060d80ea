// Signing in at an issuer, with an issuer and a clock that the tests turn.

import { describe, expect, it } from "vitest";
import type { Browser, Shelf } from "../src/store/browser";
import { SignInError, TokenSession } from "../src/store/tokens";
import type { Issuer } from "../src/wire/contract";

const ISSUER: Issuer = { url: "https://id.example", client_id: "page", scopes: "openid offline_access", token: "access" };
const PAGE = "https://djinn.example/";

/** A shelf that keeps its values over reloads of the page. */
class Memory implements Shelf {
  readonly values = new Map<string, string>();
  read = (name: string) => this.values.get(name) ?? null;
  write = (name: string, value: string | null) => void (value === null ? this.values.delete(name) : this.values.set(name, value));
  forget = () => this.values.clear();
}

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** An issuer, and a browser whose user it knows. */
class World {
  time = 1_000_000;
  timers: { at: number; action: () => void }[] = [];
  readonly tab = new Memory();
  query = "";
  address = "/s/one";
  left: URL | null = null;
  /** The bodies of requests for tokens. */
  readonly asked: URLSearchParams[] = [];
  /** What the next answers say in another way. */
  claims: Record<string, unknown> = {};
  answer: Record<string, unknown> = {};
  status = 200;
  configuration: Record<string, unknown> = {};
  tokens: (string | null)[] = [];
  #ids = 0;
  #issued = 0;
  #nonce = "";

  readonly browser = {
    fetch: (address: string, options: RequestInit) => this.#fetch(address, options),
    now: () => this.time,
    newId: () => `id-${(this.#ids += 1)}`.padEnd(32, "0"),
    after: (ms: number, action: () => void) => {
      const timer = { at: this.time + ms, action };
      this.timers.push(timer);
      return () => void (this.timers = this.timers.filter((other) => other !== timer));
    },
    tab: this.tab,
    address: () => this.address,
    place: () => ({ url: PAGE, query: this.query }),
    clearQuery: (address: string) => {
      this.query = "";
      this.address = address;
    },
    leave: (url: string) => void (this.left = new URL(url)),
  } as Partial<Browser> as Browser;

  /** The page as it is loaded. */
  load(issuer: Partial<Issuer> = {}): TokenSession {
    this.timers = [];
    return new TokenSession(this.browser, { ...ISSUER, ...issuer }, (token) => this.tokens.push(token));
  }

  /** The user signs in, and the issuer leads back with these parameters. */
  async signIn(issuer: Partial<Issuer> = {}, changes: Record<string, string> = {}): Promise<TokenSession> {
    await this.load(issuer).begin();
    this.address = "/";
    const asked = this.left?.searchParams;
    this.#nonce = asked?.get("nonce") ?? "";
    this.query = `?${new URLSearchParams({ code: "c1", state: asked?.get("state") ?? "", ...changes }).toString()}`;
    return this.load(issuer);
  }

  async pass(ms: number): Promise<void> {
    this.time += ms;
    const due = this.timers.filter((timer) => timer.at <= this.time);
    this.timers = this.timers.filter((timer) => timer.at > this.time);
    for (const timer of due) timer.action();
    for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
  }

  async #fetch(address: string, options: RequestInit): Promise<Response> {
    if (address === `${ISSUER.url}/.well-known/openid-configuration`) {
      const endpoints = { authorization_endpoint: `${ISSUER.url}/authorize?tenant=a`, token_endpoint: `${ISSUER.url}/token` };
      return Response.json({ issuer: ISSUER.url, ...endpoints, ...this.configuration });
    }
    expect(address).toBe(`${ISSUER.url}/token`);
    expect(options.credentials).toBe("omit");
    if (this.status === 0) throw new Error("no network");
    const body = options.body as URLSearchParams;
    this.asked.push(body);
    if (this.status !== 200) return Response.json({ error: "invalid_grant" }, { status: this.status });
    this.#issued += 1;
    const nonce = body.get("grant_type") === "refresh_token" ? {} : { nonce: this.#nonce };
    const claims = { iss: ISSUER.url, aud: "page", iat: 500, exp: 800, ...nonce, ...this.claims };
    const answer = { access_token: `a${this.#issued}`, refresh_token: `r${this.#issued}`, expires_in: 600 };
    return Response.json({ ...answer, id_token: `e30.${encoded(claims)}.x`, ...this.answer });
  }
}

const problemOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => (error instanceof SignInError ? error.problem : error),
  );

describe("a sign-in", () => {
  it("asks with PKCE, and returns to the conversation with a token", async () => {
    const world = new World();
    const session = await world.signIn();
    const asked = world.left;
    expect(asked?.origin + (asked?.pathname ?? "")).toBe("https://id.example/authorize");
    const parameters = Object.fromEntries(asked?.searchParams ?? []);
    expect(parameters).toMatchObject({
      tenant: "a",
      response_type: "code",
      client_id: "page",
      redirect_uri: PAGE,
      scope: "openid offline_access",
      code_challenge_method: "S256",
    });
    expect(await session.resume()).toBe(true);
    expect(world.tokens).toEqual(["a1"]);
    expect([world.query, world.address]).toEqual(["", "/s/one"]);
    const verifier = world.asked[0]?.get("code_verifier") ?? "";
    expect(verifier.length).toBeGreaterThanOrEqual(43);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
    expect(parameters.code_challenge).toBe(Buffer.from(digest).toString("base64url"));
    expect(Object.fromEntries(world.asked[0] ?? [])).toMatchObject({
      grant_type: "authorization_code",
      code: "c1",
      client_id: "page",
      redirect_uri: PAGE,
    });
    // A reload needs no issuer.
    expect(await world.load().resume()).toBe(true);
    expect(world.tokens).toEqual(["a1", "a1"]);
    expect(world.asked.length).toBe(1);
  });

  it.each<[string, Record<string, string>]>([
    ["state", { state: "foreign" }],
    ["refused", { iss: "https://other.example" }],
  ])("is rejected for its %s before the code is used", async (problem, changes) => {
    const world = new World();
    const session = await world.signIn({}, changes);
    expect(await problemOf(session.resume())).toBe(problem);
    expect([world.asked.length, world.tokens.length, world.query]).toEqual([0, 0, ""]);
    // Nor does a reload take it up.
    expect(await world.load().resume()).toBe(false);
  });

  it("that this tab did not begin is rejected", async () => {
    const world = new World();
    world.query = "?code=c1&state=s1";
    expect(await problemOf(world.load().resume())).toBe("state");
    expect([world.asked.length, world.query, world.address]).toEqual([0, "", "/s/one"]);
  });

  it("that this tab did not begin changes nothing for a user who is signed in", async () => {
    const world = new World();
    await (await world.signIn()).resume();
    world.query = "?code=c2&state=s2";
    expect(await world.load().resume()).toBe(true);
    expect([world.asked.length, world.query]).toEqual([1, ""]);
  });

  it.each<[string, Record<string, unknown>]>([
    ["nonce", { nonce: "foreign" }],
    ["nonce", { nonce: undefined }],
    ["refused", { aud: "other" }],
    ["refused", { iss: "https://other.example" }],
  ])("with a wrong token (%s) keeps no token", async (problem, claims) => {
    const world = new World();
    world.claims = claims;
    expect(await problemOf((await world.signIn()).resume())).toBe(problem);
    expect(world.tokens).toEqual([]);
    expect(await world.load().resume()).toBe(false);
  });

  it("says who said no", async () => {
    const denied = new World();
    const { state } = Object.fromEntries((await denied.signIn().then(() => denied.left))?.searchParams ?? []);
    denied.query = `?error=access_denied&state=${state ?? ""}`;
    expect(await problemOf(denied.load().resume())).toBe("denied");
    const offline = new World();
    const session = await offline.signIn();
    offline.status = 0;
    expect(await problemOf(session.resume())).toBe("unreachable");
    const foreign = new World();
    foreign.configuration = { issuer: "https://other.example" };
    expect(await problemOf(foreign.load().begin())).toBe("refused");
    const script = new World();
    script.configuration = { authorization_endpoint: "javascript:alert(1)" };
    expect(await problemOf(script.load().begin())).toBe("refused");
    expect([foreign.left, script.left]).toEqual([null, null]);
  });

  it("sends the ID token where the agent wants that, for as long as it lives", async () => {
    const world = new World();
    const session = await world.signIn({ token: "id" });
    await session.resume();
    expect(world.tokens[0]).toMatch(/^e30\./);
    await world.pass(239_000);
    expect(world.asked.length).toBe(1);
    await world.pass(1_000);
    expect(world.asked.length).toBe(2);
  });
});

describe("tokens", () => {
  it("are renewed a minute before they end, each time with the newest refresh token", async () => {
    const world = new World();
    await (await world.signIn()).resume();
    await world.pass(539_000);
    expect(world.tokens).toEqual(["a1"]);
    await world.pass(1_000);
    await world.pass(540_000);
    expect(world.tokens).toEqual(["a1", "a2", "a3"]);
    expect(world.asked.map((body) => body.get("refresh_token"))).toEqual([null, "r1", "r2"]);
  });

  it("are renewed once for all who ask at once", async () => {
    const world = new World();
    const session = await world.signIn();
    await session.resume();
    expect(await Promise.all([session.renew(), session.renew()])).toEqual([true, true]);
    expect(world.asked.length).toBe(2);
  });

  it("are renewed when the device wakes up, or the page is loaded late", async () => {
    const world = new World();
    const session = await world.signIn();
    await session.resume();
    world.timers = [];
    world.time += 700_000;
    session.onVisibility();
    await world.pass(0);
    expect(world.tokens).toEqual(["a1", "a2"]);
    world.time += 700_000;
    expect(await world.load().resume()).toBe(true);
    expect(world.tokens).toEqual(["a1", "a2", "a3"]);
  });

  it("that nobody renews end, and the next sign-in is the user's", async () => {
    const world = new World();
    const session = await world.signIn();
    await session.resume();
    world.status = 400;
    await world.pass(540_000);
    expect(await session.renew()).toBe(false);
    expect(world.asked.length).toBe(2);
    world.time += 60_000;
    expect(await world.load().resume()).toBe(false);
    expect(world.tokens.at(-1)).toBe(null);
  });

  it("are asked for again when the issuer was not reachable", async () => {
    const world = new World();
    await (await world.signIn()).resume();
    world.status = 0;
    await world.pass(540_000);
    world.status = 503;
    await world.pass(15_000);
    world.status = 200;
    await world.pass(15_000);
    expect(world.tokens).toEqual(["a1", "a2"]);
  });

  it("of another nonce are not taken", async () => {
    const world = new World();
    const session = await world.signIn();
    await session.resume();
    world.claims = { nonce: "foreign" };
    expect(await session.renew()).toBe(false);
    expect(world.tokens).toEqual(["a1"]);
  });

  it("are gone after the user signs out, also when a renewal is under way", async () => {
    const world = new World();
    const session = await world.signIn();
    await session.resume();
    const renewal = session.renew();
    session.forget();
    expect(await renewal).toBe(false);
    expect(world.tokens).toEqual(["a1", null]);
    expect([world.timers.length, world.tab.values.size]).toEqual([0, 0]);
    expect(await world.load().resume()).toBe(false);
  });
});
