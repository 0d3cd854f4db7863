// The pages are complete without this module. It follows changes, offers the browser's zone, and moves between bars by keys.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const select = "select[name=zone]";

function offerZone() {
  const list = document.querySelector(select);
  if (!list || [...list.options].some((o) => o.value === zone)) return;
  list.add(new Option(`${zone} (this browser)`, zone));
}

// Choices take effect at once, without the button. Questions and actions have several fields to fill first.
document.addEventListener("change", (event) => {
  if (event.target.closest("form.choices:not(.ask)")) event.target.form.requestSubmit();
});

let edited = false;
document.addEventListener("input", (event) => { edited ||= !event.target.closest("form.choices:not(.ask)"); });

// A page that changes keeps its open groups, its place, and the focus. The answer to a form, and a form that was begun, stay as they are.
async function refresh() {
  if (edited || document.querySelector("[data-still]")) return;
  if (document.activeElement?.matches("input, textarea, select")) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if ([401, 429, 503].includes(answer.status)) return; // the open page stays
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = page.querySelector("main"), read = page.querySelector("header time");
  if (read) document.querySelector("header time")?.replaceWith(read);
  const main = document.querySelector("main");
  next?.querySelectorAll(".wait, .step").forEach((part) => part.remove());
  if (!next || next.innerHTML === main.innerHTML) return;
  const open = [...main.querySelectorAll("details")].map((d) => d.open);
  const folds = next.querySelectorAll("details");
  if (folds.length === open.length) folds.forEach((d, i) => { d.open = open[i]; });
  const at = [...main.querySelectorAll("a, summary")].indexOf(document.activeElement);
  hush();
  main.replaceWith(next);
  if (at >= 0) next.querySelectorAll("a, summary")[at]?.focus({ preventScroll: true });
  offerZone();
}

// Browsers allow six connections to a server, and a stream keeps one, so only a visible page has a stream.
let last = "", stream;
function tell(text, kind) {
  const live = document.querySelector("#live");
  if (live) [live.textContent, live.className] = [text, `tag ${kind}`];
}
function follow() {
  stream?.close();
  if (document.hidden) return;
  stream = new EventSource("/events");
  stream.addEventListener("open", () => tell("live", "good"));
  stream.addEventListener("error", () => tell("not followed: no connection", "bad"));
  stream.addEventListener("version", (event) => {
    if (last && last !== event.data) refresh().catch(() => {});
    last = event.data;
  });
}

// The reason of a bar is one sentence. It appears at the pointer, and for a focused row at the bar of now or, by the arrow keys, another.
const tip = Object.assign(document.createElement("div"), { id: "tip", role: "status", hidden: true });
document.body.append(tip);
let shown; // the place of the sentence: a picture, its bars, and the index of the bar

function barsOf(picture) {
  const use = picture.querySelector("use:not([href='#grid'])");
  const bars = [...(use ? document.querySelector(use.getAttribute("href")) : picture).querySelectorAll("rect[width]")];
  const part = (bar, name) => parseFloat(bar.getAttribute(name)) || 0;
  return bars.filter((bar) => say(bar)).map((bar) => ({ bar, from: part(bar, "x"), to: part(bar, "x") + part(bar, "width") }))
    .filter((b, i, all) => i === 0 || b.from !== all[i - 1].from); // a reduced bar has two parts
}

// The browser would show the title of a bar too, and later.
function say(bar) {
  const title = bar.querySelector("title");
  if (title) { bar.dataset.say = title.textContent; title.remove(); }
  return bar.dataset.say;
}

function show(picture, bars, i, x) {
  const { bar, from, to } = bars[i], box = picture.getBoundingClientRect();
  shown = { picture, bars, i };
  tip.textContent = say(bar);
  tip.hidden = false;
  const left = Math.min(Math.max((x ?? box.left + box.width * (from + to) / 200) - tip.offsetWidth / 2, 4), innerWidth - tip.offsetWidth - 4);
  const above = box.top - tip.offsetHeight - 6;
  tip.style.left = `${left + scrollX}px`;
  tip.style.top = `${(above < 0 ? box.bottom + 6 : above) + scrollY}px`;
}

function hush() { tip.hidden = true; shown = undefined; }

document.addEventListener("pointermove", (event) => {
  const picture = event.target.closest?.(".row:not(.axis) svg");
  if (!picture) { if (!tip.hidden && !document.activeElement?.closest(".row")) hush(); return; }
  const box = picture.getBoundingClientRect(), bars = barsOf(picture), x = 100 * (event.clientX - box.left) / box.width;
  const i = bars.findIndex((b) => b.from <= x && x < b.to);
  if (i < 0) hush(); else show(picture, bars, i, event.clientX);
});

document.addEventListener("focusin", (event) => {
  const row = event.target.matches("summary, .row a") && (event.target.closest(".row") ?? event.target.querySelector(".row"));
  const picture = row ? row.querySelector("svg") : null;
  if (!picture?.checkVisibility({ visibilityProperty: true }) || !event.target.matches(":focus-visible")) return hush();
  const now = parseFloat(document.querySelector("#grid .now")?.getAttribute("x1")) || 0, bars = barsOf(picture);
  const i = bars.findIndex((b) => b.from <= now && now < b.to);
  if (bars.length > 0) show(picture, bars, Math.max(i, 0));
});
document.addEventListener("focusout", hush);

// j and k move between groups and targets, the arrows within a row, / goes to the filter, ? is not needed: the pages say it.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
  if (event.key === "Escape") return hush();
  const turn = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (turn && shown && document.activeElement?.closest("summary, .row")) {
    event.preventDefault();
    const i = shown.i + turn;
    if (i >= 0 && i < shown.bars.length) show(shown.picture, shown.bars, i);
    return;
  }
  if (event.key === "/") {
    const filter = document.querySelector("input[name=q]");
    if (filter) { event.preventDefault(); filter.focus(); }
    return;
  }
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  const stops = [...document.querySelectorAll(".group > summary, .group[open] .name a")];
  if (stops.length === 0) return;
  const at = stops.indexOf(document.activeElement);
  const next = stops[at < 0 ? (step > 0 ? 0 : stops.length - 1) : Math.min(Math.max(at + step, 0), stops.length - 1)];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
});

document.querySelectorAll(".wait, .step").forEach((part) => part.remove()); // the whole page is here
document.addEventListener("visibilitychange", follow);
offerZone();
follow();
