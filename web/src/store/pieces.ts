// Texts that arrive in pieces. Offsets count bytes of UTF-8.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Returns the length of a text in bytes of UTF-8. */
export function byteLength(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

/**
 * Writes a piece into a text of `bytes` bytes, at a byte offset. Bytes after the piece stay.
 *
 * Returns null if a piece before this one is missing, and if the text already has the piece.
 */
export function writePiece(
  text: string,
  bytes: number,
  offset: number,
  piece: string,
): { text: string; bytes: number } | null {
  if (offset > bytes) return null;
  const pieceBytes = byteLength(piece);
  if (offset === bytes) return pieceBytes === 0 ? null : { text: text + piece, bytes: bytes + pieceBytes };
  const length = Math.max(bytes, offset + pieceBytes);
  const buffer = new Uint8Array(length);
  buffer.set(encoder.encode(text));
  buffer.set(encoder.encode(piece), offset);
  const written = decoder.decode(buffer);
  return written === text ? null : { text: written, bytes: length };
}
