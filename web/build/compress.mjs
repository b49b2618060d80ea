// Writes a compressed copy beside each file of the built page, which the agent serves to browsers that accept it.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const folder = process.env.PAGE_OUT ?? "../target/web";

for (const name of readdirSync(folder, { recursive: true })) {
  const path = join(folder, name);
  if (!statSync(path).isFile() || path.endsWith(".br")) continue;
  const content = readFileSync(path);
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length } };
  const compressed = brotliCompressSync(content, options);
  if (compressed.length < content.length) writeFileSync(`${path}.br`, compressed);
}
