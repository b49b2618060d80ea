/** Numbers, money, times and sizes as readers expect them. */

import type { PageLanguage } from "./index";

const locale = (language: PageLanguage): string => (language === "zh" ? "zh-CN" : "en-US");

/** Tokens: `312`, `14.2k`, `1.3M`. */
export function formatTokens(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 999_950) return `${(count / 1_000).toFixed(1)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** Millionths of a US dollar: `$0.031`, `$1.20`, `<$0.001`. */
export function formatMoney(microUsd: number): string {
  const dollars = microUsd / 1_000_000;
  if (dollars === 0) return "$0";
  if (dollars < 0.0005) return "<$0.001";
  return `$${dollars.toFixed(dollars < 1 ? 3 : 2)}`;
}

/** Milliseconds: `0.4 s`, `12 s`, `1:05`, `1:02:03`. */
export function formatDuration(ms: number): string {
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  return formatClock(ms);
}

/** Milliseconds as a clock: `0:05`, `1:05`, `1:02:03`, `2 d 3 h`. */
export function formatClock(ms: number): string {
  const all = Math.max(0, Math.floor(ms / 1_000));
  const hours = Math.floor(all / 3_600);
  const two = (value: number): string => String(value).padStart(2, "0");
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours > 0) return `${hours}:${two(Math.floor(all / 60) % 60)}:${two(all % 60)}`;
  return `${Math.floor(all / 60)}:${two(all % 60)}`;
}

/** Bytes: `238 B`, `4.1 kB`, `3.9 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 999_950) return `${(bytes / 1_000).toFixed(1)} kB`;
  if (bytes < 999_950_000) return `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}

export const formatCount = (count: number, language: PageLanguage): string =>
  new Intl.NumberFormat(locale(language)).format(count);

/** Separates the thousands of a number that is written in digits; all its digits stay. */
export const separateThousands = (text: string, language: PageLanguage): string =>
  /^-?\d{4,100}(\.\d+)?$/.test(text)
    ? text.replace(/\d+/, (digits) => new Intl.NumberFormat(locale(language)).format(BigInt(digits)))
    : text;

/** A number on an axis: `1.2K`, `30M`. */
export const formatShort = (value: number, language: PageLanguage): string =>
  new Intl.NumberFormat(locale(language), { notation: "compact", maximumFractionDigits: 2 }).format(value);

export const formatTime = (atMs: number, language: PageLanguage): string =>
  new Intl.DateTimeFormat(locale(language), {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hour12: false,
  }).format(atMs);

const DAY_MS = 86_400_000;

/** A time of the last two days as `14:05`, an earlier one as `Nov 28`. */
export const formatMoment = (atMs: number, nowMs: number, language: PageLanguage): string =>
  new Intl.DateTimeFormat(
    locale(language),
    nowMs - atMs < 2 * DAY_MS
      ? { hour: "2-digit", minute: "2-digit", hour12: false }
      : { month: "short", day: "numeric" },
  ).format(atMs);

export const formatDay = (atMs: number, language: PageLanguage): string =>
  new Intl.DateTimeFormat(locale(language), { dateStyle: "medium", timeStyle: "short" }).format(atMs);
