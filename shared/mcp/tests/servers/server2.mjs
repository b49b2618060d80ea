// An MCP server for tests, with the TypeScript SDK 2.x: prints its port, then serves until it is killed.
import { createServer } from "node:http";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const flags = process.argv.slice(2);
const port = flags.includes("--port") ? Number(flags[flags.indexOf("--port") + 1]) : 0;

function createMcpServer() {
  const server = new McpServer({ name: "calculator", version: "1.0.0" });
  const inputSchema = z.object({ a: z.number(), b: z.number() });
  const name = flags.includes("--renamed") ? "plus" : "add";
  server.registerTool(name, { description: "Adds two numbers.", inputSchema }, ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  server.registerTool("picture", { description: "Draws a pixel." }, () => ({
    content: [{ type: "image", data: PIXEL, mimeType: "image/png" }],
  }));
  server.registerTool("fail", { description: "Always fails." }, () => {
    throw new Error("there is no ink");
  });
  server.registerTool("who", { description: "Returns the key of the call." }, ({ http }) => ({
    content: [{ type: "text", text: String(http.req.headers.get("authorization")) }],
  }));
  server.registerTool("wait", { description: "Never ends." }, () => new Promise(() => console.log("waiting")));
  return server;
}

const handler = createMcpHandler(createMcpServer, { responseMode: flags.includes("--json") ? "json" : "sse" });

const listener = createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const hasBody = request.method !== "GET" && request.method !== "HEAD";
  const answer = await handler.fetch(
    new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method,
      headers: Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      body: hasBody ? Buffer.concat(pieces) : undefined,
    }),
  );
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body !== null) for await (const piece of answer.body) response.write(piece);
  response.end();
});
listener.listen(port, "127.0.0.1", () => console.log(listener.address().port));
