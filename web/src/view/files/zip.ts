/** The parts of a ZIP archive, inflated by the browser. */

const END = 0x0605_4b50;
const ENTRY = 0x0201_4b50;
const STORED = 0;
const DEFLATED = 8;

/** The bytes of the last record, with the longest comment. */
const LONGEST_END = 22 + 0xffff;

export class ZipArchive {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;
  /** The offsets of the entries in the directory, by name. */
  readonly #entries = new Map<string, number>();

  /** Reads the directory; throws a `RangeError` for bytes without one. */
  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const end = this.#findEnd();
    const decoder = new TextDecoder();
    let at = this.#view.getUint32(end + 16, true);
    for (let rest = this.#view.getUint16(end + 10, true); rest > 0; rest -= 1) {
      if (this.#view.getUint32(at, true) !== ENTRY) throw new RangeError("no entry");
      const length = this.#view.getUint16(at + 28, true);
      this.#entries.set(decoder.decode(bytes.subarray(at + 46, at + 46 + length)), at);
      at += 46 + length + this.#view.getUint16(at + 30, true) + this.#view.getUint16(at + 32, true);
    }
  }

  #findEnd(): number {
    const least = Math.max(0, this.#bytes.length - LONGEST_END);
    for (let at = this.#bytes.length - 22; at >= least; at -= 1) {
      if (this.#view.getUint32(at, true) === END) return at;
    }
    throw new RangeError("no archive");
  }

  /** Returns at most `limit` characters of a part; null for a part that is absent. */
  async readText(name: string, limit: number): Promise<string | null> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return null;
    const method = this.#view.getUint16(entry + 10, true);
    if (method !== STORED && method !== DEFLATED) throw new RangeError(`method ${method}`);
    const place = this.#view.getUint32(entry + 42, true);
    const begin = place + 30 + this.#view.getUint16(place + 26, true) + this.#view.getUint16(place + 28, true);
    const content = this.#bytes.subarray(begin, begin + this.#view.getUint32(entry + 20, true));
    const stream = new Blob([content]).stream();
    const plain = method === STORED ? stream : stream.pipeThrough(new DecompressionStream("deflate-raw"));
    // A small archive may become a very large text, so reading ends at the limit.
    const reader = plain.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (text.length < limit) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += value;
    }
    await reader.cancel();
    return text.slice(0, limit);
  }
}
