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
  const next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
  const main = document.querySelector("main");
  next?.querySelector(".wait")?.remove();
  if (!next || next.innerHTML === main.innerHTML) return;
  const open = [...main.querySelectorAll("details")].map((d) => d.open);
  const folds = next.querySelectorAll("details");
  if (folds.length === open.length) folds.forEach((d, i) => { d.open = open[i]; });
  const at = [...main.querySelectorAll("a, summary")].indexOf(document.activeElement);
  main.replaceWith(next);
  if (at >= 0) next.querySelectorAll("a, summary")[at]?.focus({ preventScroll: true });
  offerZone();
}

// Browsers allow six connections to a server, and a stream keeps one, so only a visible page has a stream.
let last = "", stream;
function follow() {
  stream?.close();
  if (document.hidden) return;
  stream = new EventSource("/events");
  stream.addEventListener("version", (event) => {
    if (last && last !== event.data) refresh().catch(() => {});
    last = event.data;
  });
}

// j and k move between groups and targets, / goes to the filter, ? is not needed: the pages say it.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
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

document.querySelector(".wait")?.remove(); // the whole page is here
document.addEventListener("visibilitychange", follow);
offerZone();
follow();
