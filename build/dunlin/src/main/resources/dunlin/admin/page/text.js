// Shows values as text. Names and topics come from clients and may be hostile: visible() is for all of them.

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

// Control characters, and those that turn the direction of text or cannot be seen, are written as escapes.
export function visible(text) {
  return text.replace(UNSEEN, c => "\\u{" + c.codePointAt(0).toString(16) + "}");
}

// For a cell of a table: MQTT allows names of 65,535 bytes.
export function shortened(text, most = 120) {
  const shown = visible(text.length > most ? text.slice(0, most) : text);
  return text.length > most ? shown + "…" : shown;
}

export const number = n => n.toLocaleString("en", {maximumFractionDigits: n < 100 ? 1 : 0});

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; n >= 1024 && unit < units.length - 1; unit++) n /= 1024;
  return number(n) + " " + units[unit];
}

export function duration(seconds) {
  const whole = Math.floor(seconds);
  if (whole < 60) return whole + " s";
  if (whole < 3600) return Math.floor(whole / 60) + " min " + whole % 60 + " s";
  if (whole < 86400) return Math.floor(whole / 3600) + " h " + Math.floor(whole % 3600 / 60) + " min";
  return Math.floor(whole / 86400) + " d " + Math.floor(whole % 86400 / 3600) + " h";
}

// A moment in ISO format, by the reader's clock.
export const moment = iso => new Date(iso).toLocaleString();

// The same without the day, to the millisecond.
export const clock = iso => new Date(iso).toLocaleTimeString(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3});

const EXPIRES_NEVER = 4294967295;

export function expiry(seconds) {
  if (seconds === 0) return "with the connection";
  return seconds === EXPIRES_NEVER ? "never" : "after " + duration(seconds);
}

// A bound of a histogram's bucket, in milliseconds; -1 beyond the last one.
export function atMost(times, bound) {
  if (times.count === 0) return "–";
  return bound < 0 ? "> 1 min" : "≤ " + (bound < 1000 ? bound + " ms" : bound / 1000 + " s");
}

function decoded(base64) {
  return Uint8Array.from(atob(base64), c => c.charCodeAt(0));
}

// A payload as text where it is UTF-8 without control characters but line breaks and tabs, else as hexadecimal digits.
// Its end may be cut off within a character.
export function payload(base64, cutOff) {
  const all = decoded(base64);
  try {
    const text = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true}).decode(all, {stream: cutOff});
    return text.split(/([\n\t])/).map((part, i) => i % 2 ? part : visible(part)).join("");
  } catch {
    return Array.from(all, byte => byte.toString(16).padStart(2, "0")).join(" ");
  }
}
