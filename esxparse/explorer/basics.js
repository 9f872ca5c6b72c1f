// Words, times and elements for all scripts of the explorer.

const HUES = ["blue", "orange", "teal", "wine", "sky", "plum", "sand", "navy"];
const ORDERS = { p95: "95th percentile", mean: "mean", max: "highest", variability: "variability" };
const FOUND = 60;
const MOST_OBJECTS = 6;
const JUDGED_EVERY = 12;
const PATIENCE_MS = 5000;
const WAITING = "Waiting for the kernel. If it was restarted, run the cell again.";
const JUDGING = "Looking for findings ...";
const NO_CHART = "There is no chart: search for a counter first.";
const GONE = "The kernel was restarted: run the cell again.";

// Names come from files: control characters, and those that turn the direction of text, are not shown.
const printable = (text) => (typeof text === "string" ? text.replace(/[^\P{C}\n\t]/gu, "\ufffd") : text);

const element = (name, settings = {}, ...inside) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(settings)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "title") made.title = printable(value);
    else if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...inside.map(printable));
  return made;
};
const clock = (ms, long) => new Date(ms).toISOString().slice(long ? 0 : 11, 19).replace("T", " ");
const stretch = (start, end) => `${clock(start, true)} to ${clock(end, clock(start, true).slice(0, 10) !== clock(end, true).slice(0, 10))} UTC`;
const short = (value) =>
  value === null || value === undefined ? "–" : Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));

// The ends of a long name: those of devices differ in the last digits.
const brief = (name) => (name.length > 26 ? `${name.slice(0, 7)}…${name.slice(-10)}` : name);

// As many times as the axis has room for, as fine as they stand apart.
const timeAxis = (span, width) => {
  const tickCount = Math.max(2, Math.floor(width / 90));
  const format = span / tickCount < 1000 ? "%H:%M:%S.%L" : span / tickCount < 60_000 ? "%H:%M:%S" : span < 86_400_000 ? "%H:%M" : "%d %b %H:%M";
  return { tickCount, format };
};
const escaped = (text) => (text ?? "").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const button = (label, hint, act) => element("button", { type: "button", title: hint, onclick: act }, label);

// Series as the page draws them.
const isZero = (one) => [...one.low, ...one.high].every((value) => value === null || value === 0);
const nearest = (one, at) => {
  let low = 0;
  let high = one.time.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (one.time[middle] <= at) low = middle;
    else high = middle - 1;
  }
  return one.mean[low];
};
