// Words: numbers, times and counts as people read them.
const whole = new Intl.NumberFormat("en-US");
const compact = new Intl.NumberFormat("en-US", {notation: "compact", maximumFractionDigits: 1});

export const number = (value) => (value == null ? "–" : whole.format(value));
export const short = (value) => (value == null ? "–" : compact.format(value));
export const count = (value, word, many = `${word}s`) => `${number(value)} ${value === 1 ? word : many}`;
/** A share of 0 to 1: `0.8 %`, `42 %`. */
export const percent = (value) => (value == null ? "–" : `${value && value < 0.0995 ? (value * 100).toFixed(1) : Math.round(value * 100)} %`);
/** Seconds: `0.03 ms`, `12 ms`, `3.2 s`, `4 min`. */
export function lasted(seconds) {
  if (seconds == null) return "–";
  if (seconds < 0.01) return `${(seconds * 1000).toFixed(2)} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 90) return `${seconds.toFixed(1)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
/** Millionths of a unit of money. */
export const money = (micros) => (micros == null ? "–" : `$${(micros / 1e6).toFixed(!micros || Math.abs(micros) >= 10_000 ? 2 : Math.abs(micros) < 100 ? 6 : 4)}`);

export const clock = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit"});
export const day = new Intl.DateTimeFormat("en-GB", {day: "numeric", month: "short"});
const full = new Intl.DateTimeFormat("en-GB", {dateStyle: "medium", timeStyle: "medium"});
/** Seconds since 1970 as `14:03:22`, or `3 Nov 14:03:22` if not today, or `3 Nov 2023 14:03` if not this year. `today` is put before a time of today. */
export function when(seconds, today = "") {
  const date = new Date(seconds * 1000);
  const now = new Date();
  if (date.getFullYear() !== now.getFullYear()) return `${day.format(date)} ${date.getFullYear()} ${clock.format(date).slice(0, 5)}`;
  return date.toDateString() === now.toDateString() ? today + clock.format(date) : `${day.format(date)} ${clock.format(date)}`;
}
export const exactly = (seconds) => full.format(new Date(seconds * 1000));
/** The lengths of the common beginning and end of two lists or texts. */
export function shared(a, b) {
  const most = Math.min(a.length, b.length);
  let head = 0;
  while (head < most && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < most - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  return [head, tail];
}
export const bytes = (value) => (value < 1000 ? `${value} B` : value < 1e6 ? `${(value / 1e3).toFixed(1)} KB` : `${(value / 1e6).toFixed(1)} MB`);
