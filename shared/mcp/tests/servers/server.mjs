// An MCP server for tests, with the TypeScript SDK 1.x: prints its port, then serves until it is killed.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const flags = process.argv.slice(2);
const port = flags.includes("--port") ? Number(flags[flags.indexOf("--port") + 1]) : 0;
const isStateless = flags.includes("--stateless");

function createMcpServer() {
  const server = new McpServer({ name: "calculator", version: "1.0.0" });
  const numbers = { a: z.number(), b: z.number() };
  const name = flags.includes("--renamed") ? "plus" : "add";
  server.registerTool(name, { description: "Adds two numbers.", inputSchema: numbers }, ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  server.registerTool("picture", { description: "Draws a pixel." }, () => ({
    content: [{ type: "image", data: PIXEL, mimeType: "image/png" }],
  }));
  server.registerTool("fail", { description: "Always fails." }, () => {
    throw new Error("there is no ink");
  });
  server.registerTool("who", { description: "Returns the key of the call." }, ({ requestInfo }) => ({
    content: [{ type: "text", text: String(requestInfo.headers.authorization) }],
  }));
  server.registerTool("wait", { description: "Never ends." }, () => new Promise(() => console.log("waiting")));
  return server;
}

const sessions = new Map();

async function findTransport(id) {
  if (id !== undefined && !isStateless) return sessions.get(id);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: isStateless ? undefined : randomUUID,
    enableJsonResponse: flags.includes("--json"),
    onsessioninitialized: (session) => sessions.set(session, transport),
  });
  await createMcpServer().connect(transport);
  return transport;
}

const listener = createServer(async (request, response) => {
  const transport = await findTransport(request.headers["mcp-session-id"]);
  if (transport === undefined) return response.writeHead(404).end();
  await transport.handleRequest(request, response);
});
listener.listen(port, "127.0.0.1", () => console.log(listener.address().port));
