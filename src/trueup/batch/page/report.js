"use strict";
// Everything from a reply is set as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else node.setAttribute(name, value);
  }
  for (const child of children) node.append(child);
  return node;
};
const count = (n) => n.toLocaleString("en");
const share = (n, of) => (of ? ((100 * n) / of).toFixed(n === of || n === 0 ? 0 : 1) + " %" : "");

// Control characters are shown, and so are those that turn or hide text.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]|\udb40[\udc00-\udc7f]/g;
const visible = (text) => text.replace(HIDDEN, (sign) => {
  const point = sign.codePointAt(0);
  return point < 32 ? String.fromCodePoint(0x2400 + point) : "⟨U+" + point.toString(16).toUpperCase().padStart(4, "0") + "⟩";
});

const { summary, units } = data;
const counts = summary.counts;

const showHead = () => {
  const names = summary.inputs.map((input) => input.name);
  const shown = names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  const contract = summary.contract.name || summary.contract.hash.slice(0, 12);
  $("about").textContent = `${shown} · contract ${contract} · trueup ${summary.trueup}`;
  document.title = `trueup report: ${count(counts.valid)} of ${count(counts.units)} valid`;
  const tile = (n, label, kind = "") => make("div", { class: kind }, make("b", {}, count(n)), make("span", {}, label));
  $("tiles").append(
    tile(counts.units, "units"),
    tile(counts.valid, `valid · ${share(counts.valid, counts.units)}`, "good"),
    tile(counts.failed, `failed · ${share(counts.failed, counts.units)}`, counts.failed ? "bad" : ""),
    tile(counts.fixed, "needed fixes"),
    tile(counts.warned, "with warnings"),
  );
};

const showFunnel = () => {
  const stages = [
    ["pipeline_internal", "a unit at all"], ["parse", "a value was read"],
    ["schema_validation", "fits the schema"], ["validation", "keeps the rules: valid"],
  ];
  let left = counts.units;
  const row = (label, n, lost) => {
    const fill = make("span", { class: "fill" });
    fill.style.width = (counts.units ? (100 * n) / counts.units : 0) + "%";
    const tail = make("span", {}, `${count(n)} `);
    if (lost) tail.append(make("span", { class: "lost" }, `− ${count(lost)}`));
    return make("li", {}, make("span", {}, label), make("span", { class: "track" }, fill), tail);
  };
  $("funnel").append(row("lines that went in", left, 0));
  for (const [stage, label] of stages) {
    const lost = summary.stages[stage] || 0;
    left -= lost;
    $("funnel").append(row(label, left, lost));
  }
};

const showTable = (id, rows, kind, heading) => {
  const body = make("tbody");
  const entries = Object.entries(rows).sort((a, b) => b[1].units - a[1].units || (a[0] < b[0] ? -1 : 1));
  for (const [code, row] of entries) {
    const button = make("button", { type: "button" }, code);
    const line = make("tr", { class: "pick" },
      make("td", {}, button, make("small", {}, row.name)),
      make("td", {}, row.title),
      make("td", {}, make("span", { class: `grade ${row[kind]}` }, row[kind])),
      make("td", { class: "num" }, count(row.units)));
    line.addEventListener("click", () => choose(code));
    body.append(line);
  }
  if (!entries.length) body.append(make("tr", {}, make("td", { colspan: 4 }, "none")));
  const head = ["code", "meaning", heading, "units"].map((name, at) => make("th", at === 3 ? { class: "num" } : {}, name));
  $(id).append(make("thead", {}, make("tr", {}, ...head)), body);
};

const state = { kind: "", code: "", text: "", chosen: 0 };
const codesOf = (unit) => [...unit.errors, ...(unit.warnings || []), ...unit.fixes].map((fact) => fact.code);
const fits = (unit) =>
  (!state.kind || unit.kind === state.kind) &&
  (!state.code || codesOf(unit).includes(state.code)) &&
  (!state.text || (unit.unit_id + "\n" + unit.raw_response).toLowerCase().includes(state.text));

const choose = (code) => {
  state.code = code;
  state.kind = "";
  $("kind").value = "";
  $("code").value = code;
  showList();
  $("units").scrollIntoView({ behavior: "smooth" });
};

const showList = () => {
  const found = units.filter(fits);
  $("matches").textContent = `${count(found.length)} of ${count(units.length)}`;
  const items = found.map((unit) => {
    const why = unit.kind === "failed" ? unit.errors.map((e) => e.code) : unit.fixes.map((f) => f.code);
    const item = make("li", { tabindex: "0" }, visible(unit.unit_id),
      make("small", {}, `${unit.kind} · ${[...new Set(why)].join(" ")}`));
    const open = () => {
      for (const other of $("list").children) other.removeAttribute("aria-current");
      item.setAttribute("aria-current", "true");
      showUnit(unit);
    };
    item.addEventListener("click", open);
    item.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); }
      const next = event.key === "ArrowDown" ? item.nextElementSibling : event.key === "ArrowUp" ? item.previousElementSibling : null;
      if (next) { event.preventDefault(); next.focus(); next.click(); }
    });
    return item;
  });
  $("list").replaceChildren(...items);
  if (items.length) items[0].click();
  else $("unit").replaceChildren(make("p", { class: "note" }, "No unit of this report matches."));
};

// Spans count characters; JavaScript counts halves of them.
const marked = (raw, facts) => {
  const points = Array.from(raw);
  const spans = facts.filter((fact) => fact.span && fact.span[1] <= points.length)
    .sort((a, b) => a.span[0] - b.span[0] || a.span[1] - b.span[1]);
  const out = [];
  let at = 0;
  for (const { span: [start, stop], kind, code, says } of spans) {
    if (start < at) continue;
    out.push(visible(points.slice(at, start).join("")));
    out.push(make("mark", { class: kind, title: says }, visible(points.slice(start, stop).join("")), make("sup", {}, code)));
    at = stop;
  }
  out.push(visible(points.slice(at).join("")));
  return make("pre", { id: "raw" }, ...out);
};

const shown = (text) => make("pre", {}, visible(text));
const facts = (head, rows, cells) => {
  if (!rows.length) return [];
  const body = rows.map((row) => make("tr", {}, ...cells(row).map((cell) => make("td", {}, cell))));
  return [make("h3", {}, head), make("table", {}, make("tbody", {}, ...body))];
};

const showUnit = (unit) => {
  const said = unit.kind === "failed" ? `failed at ${unit.failure_stage}` : "valid";
  const spoken = [
    ...unit.fixes.map((fix) => ({ ...fix, kind: fix.grade, says: `${fix.code}, ${fix.grade}: ${visible(fix.before)} → ${visible(fix.after)}` })),
    ...unit.errors.map((error) => ({ ...error, kind: "finding", says: `${error.code}: ${visible(error.message)}` })),
  ];
  const warned = unit.warnings || [];
  const cut = unit.cut ? [make("p", { class: "note" }, `Only the start is here: the whole reply has ${count(unit.cut)} characters.`)] : [];
  $("unit").replaceChildren(
    make("h3", {}, visible(unit.unit_id)),
    make("p", {}, make("span", { class: `verdict ${unit.kind}` }, said), unit.place ? ` · ${visible(unit.place)}` : ""),
    ...facts("Errors", unit.errors, (e) => [e.code, make("code", {}, visible(e.path)), visible(e.message)]),
    ...facts("Warnings", warned, (e) => [e.code, make("code", {}, visible(e.path)), visible(e.message)]),
    make("h3", {}, "Reply as it came"), marked(unit.raw_response, spoken), ...cut,
    ...facts("Fixes", unit.fixes, (f) => [
      f.code, make("span", { class: `grade ${f.grade}` }, f.grade), make("code", {}, visible(f.path)),
      make("code", {}, visible(`${f.before} → ${f.after}`)),
    ]),
    ...("data" in unit ? [make("h3", {}, "Value"), shown(unit.data)] : []),
    ...("input" in unit ? [make("h3", {}, "Input"), shown(unit.input)] : []),
  );
};

const start = () => {
  showHead();
  showFunnel();
  showTable("codes", summary.codes, "level", "level");
  showTable("fixes", summary.fixes, "grade", "grade");
  const grades = summary.grades;
  $("grades").textContent = `${count(grades.lossless)} lossless · ${count(grades.guess)} guesses · ${count(grades.lossy)} lossy`;
  $("sampled").textContent = units.length < data.of
    ? `The first units of each code: ${count(units.length)} of ${count(data.of)} that failed or were fixed. All of them are in failures.jsonl and validated.jsonl.`
    : "Every unit that failed or was fixed.";
  const codes = [...new Set(units.flatMap(codesOf))].sort();
  $("code").append(make("option", { value: "" }, "any"), ...codes.map((code) => make("option", { value: code }, code)));
  $("kind").addEventListener("change", () => { state.kind = $("kind").value; showList(); });
  $("code").addEventListener("change", () => { state.code = $("code").value; showList(); });
  $("text").addEventListener("input", () => { state.text = $("text").value.toLowerCase(); showList(); });
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  showList();
};
start();
