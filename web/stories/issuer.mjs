// A small OpenID provider: signs in one user, who only has to press a button, and signs tokens with ES256.

import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { LocalServer } from "./local_server.mjs";

const CLIENT = "djinn-page";
const AUDIENCE = "djinn-story";
const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

export class Issuer extends LocalServer {
  /** The grants of the requests for tokens, in their order. */
  grants = [];
  /** The life of the next tokens in seconds. */
  lifeS = 3_600;
  /** What the next ID tokens claim in another way. */
  claims = {};
  /** False rejects refresh tokens. */
  isRenewing = true;
  #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  #codes = new Map();
  #refreshTokens = new Set();
  #waiting = [];

  /** The variables of a system that accepts this issuer's tokens. */
  get variables() {
    return {
      DJINN_AUTH: "jwt",
      DJINN_JWT_ISSUER: this.url,
      DJINN_JWT_AUDIENCE: AUDIENCE,
      DJINN_PAGE__CLIENT_ID: CLIENT,
      DJINN_PAGE__SCOPES: "openid offline_access",
    };
  }

  /** Resolves when tokens have been given for this many requests. */
  async given(count) {
    while (this.grants.length < count) await new Promise((resolve) => this.#waiting.push(resolve));
  }

  async answer(request, response) {
    const url = new URL(request.url, this.url);
    const json = (status, body) => {
      response.writeHead(status, { "content-type": "application/json", "access-control-allow-origin": "*" });
      response.end(JSON.stringify(body));
    };
    const paths = {
      "/.well-known/openid-configuration": () =>
        json(200, { issuer: this.url, authorization_endpoint: `${this.url}/authorize`, token_endpoint: `${this.url}/token` }),
      "/.well-known/jwks.json": () =>
        json(200, { keys: [{ ...this.#keys.publicKey.export({ format: "jwk" }), kid: "k1", use: "sig", alg: "ES256" }] }),
      "/authorize": () => this.#authorize(url.searchParams, response),
      "/token": async () => {
        const pieces = await request.toArray();
        json(...this.#token(new URLSearchParams(Buffer.concat(pieces).toString())));
      },
    };
    await (paths[url.pathname] ?? (() => json(404, {})))();
  }

  #authorize(asked, response) {
    const isRight = asked.get("client_id") === CLIENT && asked.get("response_type") === "code";
    const isProved = asked.get("code_challenge_method") === "S256" && asked.get("code_challenge")?.length === 43;
    if (!isRight || !isProved || !asked.get("state") || !asked.get("nonce")) return response.writeHead(400).end();
    const code = randomUUID();
    this.#codes.set(code, asked);
    const back = new URL(asked.get("redirect_uri"));
    back.searchParams.set("code", code);
    back.searchParams.set("state", asked.get("state"));
    response.writeHead(200, { "content-type": "text/html" });
    response.end(`<!doctype html><html lang="en"><title>Issuer</title><h1>Who are you?</h1><a href="${back}">I am Anna</a></html>`);
  }

  #token(body) {
    const grant = body.get("grant_type");
    const asked = this.#codes.get(body.get("code"));
    this.#codes.delete(body.get("code"));
    const digest = createHash("sha256").update(body.get("code_verifier") ?? "").digest("base64url");
    const isCode = asked?.get("code_challenge") === digest && asked.get("redirect_uri") === body.get("redirect_uri");
    // A refresh token is used once.
    const isRefresh = this.#refreshTokens.delete(body.get("refresh_token")) && this.isRenewing;
    this.grants.push(grant);
    for (const resolve of this.#waiting.splice(0)) resolve();
    if (body.get("client_id") !== CLIENT || !(grant === "refresh_token" ? isRefresh : isCode)) {
      return [400, { error: "invalid_grant" }];
    }
    const now = Math.floor(Date.now() / 1_000);
    const common = { iss: this.url, sub: "anna", tenant: "story", iat: now, exp: now + this.lifeS };
    const refresh = randomUUID();
    this.#refreshTokens.add(refresh);
    const idClaims = { ...common, aud: CLIENT, nonce: asked?.get("nonce"), ...this.claims };
    return [
      200,
      {
        access_token: this.#sign({ ...common, aud: AUDIENCE, jti: randomUUID() }),
        id_token: this.#sign(idClaims),
        refresh_token: refresh,
        token_type: "Bearer",
        expires_in: this.lifeS,
      },
    ];
  }

  #sign(claims) {
    const text = `${encode({ alg: "ES256", kid: "k1", typ: "JWT" })}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(text), { key: this.#keys.privateKey, dsaEncoding: "ieee-p1363" });
    return `${text}.${signature.toString("base64url")}`;
  }
}
