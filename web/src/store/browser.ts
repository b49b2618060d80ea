// The browser's services that the store uses. Tests replace them.

import type { Fetch } from "../wire/server";
import type { Surroundings } from "../wire/follow";

export interface Browser extends Surroundings {
  readonly fetch: Fetch;
  newId(): string;
  /** Values of this tab only. */
  readonly tab: Shelf;
  /** Values of this device. */
  readonly device: Shelf;
  /** The part of the address after `#`. */
  address(): string;
  setAddress(address: string, isReplacement: boolean): void;
  onAddress(listener: () => void): void;
  /** The page's own address, without the parts from `?` and `#` on; and the part from `?` on. */
  place(): { readonly url: string; readonly query: string };
  /** Removes the part from `?` on, and sets the part after `#`. */
  clearQuery(address: string): void;
  /** Leaves for another page. */
  leave(url: string): void;
  /** Another tab has written a value of this device. */
  onDeviceValue(listener: (name: string, value: string) => void): void;
  onVisibility(listener: () => void): void;
  isOnline(): boolean;
  onNetwork(listener: () => void): void;
  /** Calls once before the next paint; soon if nothing is painted. */
  beforePaint(action: () => void): void;
}

/** Texts by name that outlast a reload. Without storage, values last as long as the page. */
export interface Shelf {
  read(name: string): string | null;
  /** Null removes the value. */
  write(name: string, value: string | null): void;
  /** Removes the values whose names begin with this. */
  forget(prefix: string): void;
}

const PREFIX = "djinn:";

/** Blocked or full storage must not stop the page. */
export function storageShelf(open: () => Storage): Shelf {
  const memory = new Map<string, string>();
  return {
    read(name) {
      const remembered = memory.get(name);
      if (remembered !== undefined) return remembered;
      try {
        return open().getItem(PREFIX + name);
      } catch {
        return null;
      }
    },
    write(name, value) {
      memory.delete(name);
      try {
        if (value === null) open().removeItem(PREFIX + name);
        else open().setItem(PREFIX + name, value);
      } catch {
        if (value !== null) memory.set(name, value);
      }
    },
    forget(prefix) {
      for (const name of memory.keys()) if (name.startsWith(prefix)) memory.delete(name);
      try {
        const storage = open();
        for (const name of Object.keys(storage)) if (name.startsWith(PREFIX + prefix)) storage.removeItem(name);
      } catch {
        // Blocked storage keeps nothing.
      }
    },
  };
}

export function realBrowser(): Browser {
  return {
    fetch: (address, options) => fetch(address, options),
    now: () => Date.now(),
    random: () => Math.random(),
    after(ms, action) {
      const timer = setTimeout(action, ms);
      return () => clearTimeout(timer);
    },
    isHidden: () => document.visibilityState === "hidden",
    newId: newUuid,
    tab: storageShelf(() => sessionStorage),
    device: storageShelf(() => localStorage),
    address: () => decodeHash(location.hash),
    setAddress(address, isReplacement) {
      if (isReplacement) history.replaceState(null, "", `#${address}`);
      else history.pushState(null, "", `#${address}`);
    },
    place: () => ({ url: location.origin + location.pathname, query: location.search }),
    clearQuery: (address) => history.replaceState(null, "", `${location.pathname}#${address}`),
    leave: (url) => location.assign(url),
    onAddress(listener) {
      addEventListener("popstate", listener);
      addEventListener("hashchange", listener);
    },
    onDeviceValue(listener) {
      addEventListener("storage", ({ key, newValue }) => {
        if (key?.startsWith(PREFIX) && newValue !== null) listener(key.slice(PREFIX.length), newValue);
      });
    },
    onVisibility: (listener) => document.addEventListener("visibilitychange", listener),
    isOnline: () => navigator.onLine,
    onNetwork(listener) {
      addEventListener("online", listener);
      addEventListener("offline", listener);
    },
    beforePaint(action) {
      if (document.visibilityState === "hidden") setTimeout(action, 100);
      else requestAnimationFrame(action);
    },
  };
}

function decodeHash(hash: string): string {
  return hash.replace(/^#/, "");
}

/** `crypto.randomUUID` exists only on secure origins; a laptop's address in a local network is none. */
function newUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
