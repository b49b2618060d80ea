/** Addresses that a text may link to, and images that it may show. */

/** Returns the address if it may be opened: http, https and mailto. */
export function allowedAddress(href: string): string | null {
  const text = href.trim();
  if (!/^(?:https?:\/\/|mailto:)/i.test(text)) return null;
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" || url.protocol === "mailto:" ? url.href : null;
  } catch {
    return null;
  }
}

/** Returns the host of an address, or an empty text. */
export function hostOf(href: string): string {
  try {
    return new URL(href).host;
  } catch {
    return "";
  }
}

/** Returns the address if it is an image in itself. */
export function allowedImageData(href: string): string | null {
  return /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/.test(href) ? href : null;
}

/** Returns the file's name, if an address names a file of the session rather than a place on the web. */
export function fileName(href: string): string | null {
  if (/^[a-z][a-z0-9+.-]*:/i.test(href) || href.startsWith("//") || href.startsWith("#")) return null;
  const path = href.replace(/^\.?\//, "").replace(/[?#].*$/, "");
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
