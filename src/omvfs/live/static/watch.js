"use strict";
// Shows what the server tells of a run. Names are data: they only ever become text.

const SVG = "http://www.w3.org/2000/svg";
// A server that gave no sign of life for so long is asked anew.
const SILENCE = 15000;
const STATES = {
  reading: ["Reading", ""], learning: ["Learning", ""], ranking: ["Ranking features", ""],
  writing: ["Writing results", ""], finished: ["Finished", "good"], stopped: ["Stopped; go on with --resume", "warn"],
  failed: ["Failed", "bad"], died: ["Died: its process is gone; go on with --resume", "bad"],
  silent: ["No news for over a minute", "warn"],
};
const KINDS = { shares: "other shares of clusters", meaning: "features of other meaning", views: "other views" };

const by = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);
const list = (value) => (Array.isArray(value) ? value : []);
const count = (value) => (number(value) === null ? "?" : whole.format(value));
const size = (bytes) => (bytes < 1e10 ? `${whole.format(bytes / 1e6)} MB` : `${whole.format(bytes / 1e9)} GB`);

function make(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

function named(value, className) {
  const element = make("bdi", String(value), className);
  element.title = String(value);
  return element;
}

function duration(seconds) {
  const s = Math.round(seconds);
  if (s < 90) return `${s} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
}

function say(id, text) {
  by(id).textContent = text;
  by(id).hidden = !text;
}

function state(told, status) {
  const [words, kind] = STATES[told.run] || [String(told.run), ""];
  const gone = told.gone && told.run !== "finished";
  by("state").textContent = gone ? "Ended and left nothing; its terminal tells why" : words;
  by("state").dataset.kind = gone ? "bad" : kind;
  say("message", typeof status.message === "string" ? status.message : "");
}

function figures(told, status) {
  const parts = status.unit === "parts";
  const rows = number(status.rows) || 0, total = number(status.total), done = told.run === "finished";
  const bar = by("bar");
  bar.hidden = !total && !done;
  if (done) bar.value = 1;
  else if (total) bar.value = Math.min(1, rows / total);
  const last = list(status.history).at(-1);
  const rate = last ? number(last[2]) : null, seconds = number(status.seconds) || 0;
  const running = ["reading", "learning"].includes(told.run);
  const facts = [[parts ? "Parts" : "Rows", count(rows), total && !done ? `of ${count(total)}` : ""]];
  if (!parts && rate !== null) {
    const overall = seconds > 0 ? rows / seconds : 0;
    facts.push(["Rows a second", short.format(running ? rate : overall), running ? "" : "overall"]);
  }
  facts.push(["Time", duration(seconds), ""]);
  if (running && total && rows && rows < total) facts.push(["Left, about", duration(((total - rows) * seconds) / rows), ""]);
  const memory = status.memory || {};
  if (number(memory.resident) !== null) {
    const limit = number(memory.limit);
    facts.push(["Memory", size(memory.resident), limit ? `of ${size(limit)}` : ""]);
  }
  if (number(memory.peak) !== null) facts.push(["At most", size(memory.peak), ""]);
  by("figures").replaceChildren(...facts.map(([name, value, more]) => {
    const entry = make("div"), figure = make("dd", `${value} `);
    if (more) figure.append(make("small", more));
    entry.append(make("dt", name), figure);
    return entry;
  }));
}

// The largest of 1, 2 and 5 times a power of ten that is not above a value.
function round(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [5, 2, 1].find((each) => each * power <= value);
}

function draw(id, points, label) {
  const svg = by(id), width = Math.max(svg.clientWidth, 200), height = 110, left = 44, bottom = 92;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const part = (tag, attributes, text) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const most = Math.max(...points.map((p) => p[1]), 1e-9) * 1.08, tick = round(most / 1.08);
  const from = points.length ? points[0][0] : 0, to = points.length ? points.at(-1)[0] : 1;
  const x = (t) => left + (width - left - 4) * (to > from ? (t - from) / (to - from) : 1);
  const y = (v) => bottom - (bottom - 8) * (v / most);
  const found = [
    part("line", { x1: left, x2: width, y1: bottom, y2: bottom }),
    part("line", { x1: left, x2: width, y1: y(tick), y2: y(tick) }),
    part("text", { x: left - 6, y: bottom + 4, "text-anchor": "end" }, "0"),
    part("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, points.length ? short.format(tick) : ""),
    part("text", { x: left, y: height - 3 }, duration(from)),
    part("text", { x: width - 2, y: height - 3, "text-anchor": "end" }, duration(to)),
  ];
  const line = points.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`);
  if (points.length === 1) line.push(`L${(x(points[0][0]) - 3).toFixed(1)} ${y(points[0][1]).toFixed(1)}`);
  found.push(part("path", { d: line.join("") || "M0 0" }));
  svg.setAttribute("aria-label", label);
  svg.replaceChildren(...found);
}

function charts(status) {
  const points = list(status.history).filter((p) => Array.isArray(p) && p.every((n) => number(n) !== null));
  const parts = status.unit === "parts";
  by("rate-title").textContent = parts ? "Parts a second" : "Rows a second";
  draw("rate", points.map((p) => [p[0], p[2]]), "speed over time");
  draw("memory", points.map((p) => [p[0], p[3] / 1e6]), "memory over time");
}

function moved(places) {
  if (places === null) return ["new", "new"];
  if (places > 0) return ["up", `▲ ${places}`];
  if (places < 0) return ["down", `▼ ${-places}`];
  return ["", ""];
}

function views(status) {
  const found = list(status.views);
  by("views-part").hidden = !found.length;
  const at = `after ${count(status.known_at)} rows`;
  by("known").textContent = status.final
    ? `The ranking, ${at}.`
    : `The best by themselves ${at}, as sums tell it at once; the ranking will differ. ▲ ▼: moved since the look before.`;
  by("views").replaceChildren(...found.map((view) => {
    const part = make("div", undefined, "view"), heading = make("h3"), items = make("ol");
    heading.append(named(view.name), make("span", ` ${count(view.features)} features`, "quiet"));
    items.append(...list(view.top).map(([name, places], i) => {
      const item = make("li"), [way, words] = moved(status.final ? 0 : places), mark = make("span", words, "moved");
      mark.dataset.way = way;
      item.append(make("span", String(i + 1), "rank"), named(name, "name"), mark);
      return item;
    }));
    part.append(heading, items);
    return part;
  }));
  const more = (number(status.n_views) || 0) - found.length;
  by("more-views").textContent = more > 0 ? `and ${count(more)} more views` : "";
}

function words(pairs, found) {
  const several = found.length > 1;
  return list(pairs).map(([v, name]) => {
    const element = named(name);
    if (several && found[v]) element.title = `${name} (${found[v].name})`;
    return element;
  });
}

function clusters(status) {
  const found = list(status.clusters);
  by("clusters-part").hidden = !found.length;
  const most = Math.max(...found.map((each) => number(each.share) || 0), 1e-9);
  by("clusters").replaceChildren(...found.map((each) => {
    const item = make("li"), track = make("div", undefined, "track"), fill = make("div", undefined, "fill");
    const share = number(each.share);
    fill.style.width = `${(100 * (share || 0)) / most}%`;
    track.append(fill);
    const about = make("div", undefined, "about");
    about.append(...words(each.about, list(status.views)));
    item.append(make("span", String(each.number), "quiet"), track,
      make("span", share === null ? "" : `${(100 * share).toFixed(1)} %`, "share"), about);
    return item;
  }));
  const more = (number(status.n_clusters) || 0) - found.length;
  by("more-clusters").textContent = more > 0 ? `and ${count(more)} more clusters` : "";
}

function drift(status) {
  const found = list(status.drift);
  by("drift-part").hidden = !found.length;
  by("drift").replaceChildren(...found.map((each) => {
    const item = make("li", `Row ${count(each.row)}: ${KINDS[each.kind] || "a change"}, since about row ${count(each.since)}`);
    for (const [title, pairs] of [["came", each.came], ["went", each.went]]) {
      if (!list(pairs).length) continue;
      const line = make("div", `${title} `, "words quiet");
      line.append(...words(pairs, list(status.views)));
      item.append(line);
    }
    return item;
  }));
  const more = (number(status.n_drift) || 0) - found.length;
  by("more-drift").textContent = more > 0 ? `and ${count(more)} before` : "";
}

let shown = null;

function show(told) {
  shown = told;
  by("folder").textContent = told.folder;
  document.title = `${told.folder} · omvfs`;
  const status = told.status;
  by("all").hidden = !status;
  if (!status) {
    by("state").textContent = "No run is here yet";
    return;
  }
  state(told, status);
  for (const part of [() => figures(told, status), () => charts(status), () => views(status), () => clusters(status), () => drift(status)]) {
    // A file of another hand may hold anything; what can be shown is shown.
    try { part(); } catch (error) { console.warn(error); }
  }
  document.body.dataset.rows = status.rows;
  document.body.dataset.run = told.run;
}

let source = null, heard = Date.now();

function connect() {
  if (source) source.close();
  heard = Date.now();
  source = new EventSource("events");
  const sign = () => { heard = Date.now(); say("link", ""); };
  source.onopen = sign;
  source.addEventListener("beat", sign);
  source.onmessage = (event) => { sign(); show(JSON.parse(event.data)); };
  source.onerror = async () => {
    const ended = shown && shown.run === "finished";
    say("link", ended ? "The server has ended; this is the last that was known." : "The server does not answer; this is the last that was known. Trying again.");
    if (source.readyState !== EventSource.CLOSED) return;
    // It answered, with a refusal: tell which.
    try {
      const answer = await fetch("status", { method: "HEAD" });
      if (answer.status === 403) say("link", "The server was started anew with another token: open the address that it has told.");
      else say("link", "The server has too many pages open. Trying again.");
    } catch { /* it is gone again */ }
    heard = Date.now() - SILENCE + 3000;
  };
}

// Browsers give a server few connections: a page that nobody sees needs none.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { if (source) source.close(); source = null; } else connect();
});
setInterval(() => {
  if (!document.hidden && Date.now() - heard > SILENCE) connect();
}, 1000);
window.addEventListener("resize", () => { if (shown && shown.status) charts(shown.status); });
connect();
