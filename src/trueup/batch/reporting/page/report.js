const { summary, units } = data;
const counts = summary.counts;
const coded = (table) => Object.entries(table).map(([code, row]) => ({ code, ...row }));

const showHead = () => {
  const names = summary.inputs.map((input) => input.name);
  const shown = names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${names.length - 3} more` : "");
  const contract = summary.contract.name || summary.contract.hash.slice(0, 12);
  const parts = [shown, data.kind === "run" ? "pipeline run" : contract && `contract ${contract}`, `trueup ${summary.trueup}`];
  $("about").textContent = visible(parts.filter(Boolean).join(" · "));
  document.title = `trueup report: ${count(counts.valid)} of ${count(counts.units)} valid`;
  const merged = (summary.merged || {}).units || 0;
  $("tiles").append(
    tile(counts.units, "units"),
    tile(counts.valid, `valid · ${share(counts.valid, counts.units)}`, "good"),
    tile(counts.failed, `failed · ${share(counts.failed, counts.units)}`, counts.failed ? "bad" : ""),
    ...(counts.pending ? [tile(counts.pending, "pending")] : []),
    tile(counts.fixed, "needed fixes"),
    tile(counts.warned, "valid with warnings"),
    ...(merged ? [tile(merged, "merged")] : []),
    ...(data.cost ? [tile(data.cost, "cost")] : []),
  );
  notes(data.notes);
};

const showFunnel = () => {
  const row = (label, n, lost, of) => {
    const fill = make("span", { class: "fill" });
    fill.style.width = (of ? Math.min(100, (100 * n) / of) : 0) + "%";
    const tail = make("span", {}, `${count(n)} `);
    if (lost) tail.append(make("span", { class: "lost" }, `− ${count(lost)}`));
    return make("li", {}, make("span", {}, visible(label)), make("span", { class: "track" }, fill), tail);
  };
  if (data.steps) {
    const most = Math.max(counts.units, ...data.steps.map((step) => step.valid));
    $("funnel").append(row("units", data.units_in, 0, most));
    for (const step of data.steps) $("funnel").append(row(`passed ${step.step}`, step.valid, step.failed, most));
    return;
  }
  const stages = [
    ["pipeline_internal", "is a unit"], ["parse", "has a value"],
    ["schema_validation", "fits the schema"], ["validation", "passes the rules: valid"],
  ];
  let left = counts.units;
  $("funnel").append(row("lines in the input", left, 0, counts.units));
  for (const [stage, label] of stages) {
    const lost = summary.stages[stage] || 0;
    left -= lost;
    $("funnel").append(row(label, left, lost, counts.units));
  }
};

const number = (name, field = name) => ({ name, value: (row) => row[field], number: true });
const stepColumn = data.steps ? [{ name: "step", value: (row) => row.step }] : [];
const filtering = (text, choice) => {
  const button = make("button", { type: "button", "aria-label": `Show units: ${visible(text)}` }, visible(text));
  button.addEventListener("click", (event) => { event.stopPropagation(); choose(choice); });
  return button;
};
const codeColumn = {
  name: "code", value: (row) => row.code,
  cell: (row) => make("span", {}, filtering(row.code, { code: row.code }), make("small", {}, row.name)),
};
const meaningColumn = {
  name: "meaning", value: (row) => row.title,
  cell: (row) => {
    const cell = make("span", {}, row.title);
    if (row.code in data.explained) {
      cell.append(" ", make("a", { href: `#explain-${row.code}`, class: "why", "aria-label": `What ${row.code} means` }, "explain"));
    }
    return cell;
  },
};

const showTables = () => {
  const levels = [number("failed"), number("warned"), number("times")];
  sortable("codes", [codeColumn, ...levels, meaningColumn], coded(summary.codes), { pick: (row) => choose({ code: row.code }) });
  const grouped = (name) => [
    ...stepColumn,
    { name, value: (row) => row.key, cell: (row) => filtering(row.key, { [name]: row.key, step: row.step || "" }) },
    ...levels,
    { name: "codes", value: (row) => Object.keys(row.codes).join(" "), cell: (row) => listed(row.codes) },
  ];
  for (const [name, id] of [["path", "paths"], ["rule", "rules"]]) {
    sortable(id, grouped(name), data[id], { pick: (row) => choose({ [name]: row.key, step: row.step || "" }) });
  }
  const grade = { name: "grade", value: (row) => row.grade, cell: (row) => make("span", { class: `grade ${row.grade}` }, row.grade) };
  sortable("fixes", [codeColumn, number("units"), number("times"), grade, meaningColumn], coded(summary.fixes),
    { pick: (row) => choose({ code: row.code }) });
  if (data.grounded.length) {
    $("h-grounded").parentElement.hidden = false;
    const named = data.grounded.some((row) => row.model);
    const kinds = ["exact", "normalized", "fuzzy", "computed"];
    const counted = (name, field) => ({ name, value: (row) => row[field] || 0, number: true });
    sortable("grounded", [
      ...stepColumn, ...(named ? [{ name: "model", value: (row) => row.model || "(not named)" }] : []),
      { name: "field", value: (row) => row.key }, number("values"),
      { name: "grounded", value: (row) => row.rate, number: true, cell: (row) => (row.rate === null ? "–" : `${(100 * row.rate).toFixed(1)} %`) },
      ...kinds.map((kind) => counted(kind, kind)), counted("no evidence", "none"), counted("only in prompt", "only_in_prompt"),
      counted("other record", "other_record"), counted("not checkable", "not_checkable"),
    ], data.grounded);
  }
  const grades = summary.grades;
  $("grades").textContent = `${count(grades.lossless)} lossless · ${count(grades.guess)} guesses · ${count(grades.lossy)} lossy`;
  if (data.steps) {
    $("h-steps").parentElement.hidden = false;
    const columns = ["valid", "failed", "retried", "pending", "fixed", "warned"].map((name) => number(name));
    sortable("steps", [
      { name: "step", value: (row) => row.step }, ...columns, number("calls"), number("tokens in", "input_tokens"),
      number("tokens out", "output_tokens"), { name: "cost", value: (row) => row.usd, cell: (row) => row.cost, number: true },
      { name: "seconds", value: (row) => row.seconds, cell: (row) => row.seconds.toFixed(1), number: true },
    ], data.steps);
  }
  const merged = summary.merged || {};
  if (merged.units) {
    $("h-merged").parentElement.hidden = false;
    $("kind").append(make("option", { value: "merged" }, "merged"));
    $("how-merged").textContent = `${count(merged.units)} units were merged with ${count(merged.replies)} more replies with the same id (--merge ${merged.how}).`;
    const kinds = Object.entries(merged.kinds).map(([kind, n]) => ({ kind: kind.replaceAll("_", " ").replace(" to ", " → "), n }));
    sortable("merged", [{ name: "earlier reply → chosen one", value: (row) => row.kind }, number("replies", "n")], kinds);
  }
};

const state = { kind: "", step: "", code: "", path: "", rule: "", text: "" };
const FILTERS = ["kind", "step", "code", "path", "rule"];
const ruleNames = new Set(data.rules.map((row) => row.key));
const factsOf = (unit) => [...unit.errors, ...(unit.warnings || [])];
const kinds = {
  step: (unit) => [unit.step || ""],
  code: (unit) => [...factsOf(unit), ...unit.fixes].map((fact) => fact.code),
  path: (unit) => factsOf(unit).map((fact) => folded(fact.path)),
  rule: (unit) => factsOf(unit).map((fact) => fact.rule).filter((rule) => ruleNames.has(rule)),
};
const fits = (unit) =>
  (!state.kind || unit.kind === state.kind || (state.kind === "merged" && unit.merged)) &&
  Object.entries(kinds).every(([name, of]) => !state[name] || of(unit).includes(state[name])) &&
  (!state.text || (unit.unit_id + "\n" + unit.raw_response).toLowerCase().includes(state.text));

const choose = (choice) => {
  for (const name of FILTERS) {
    state[name] = choice[name] || "";
    const select = $(name);
    if (state[name] && ![...select.options].some((option) => option.value === state[name])) {
      select.append(make("option", { value: state[name] }, visible(state[name])));
    }
    select.value = state[name];
  }
  state.text = $("text").value = "";
  showList();
  $("units").scrollIntoView({ behavior: "smooth" });
  ($("list").firstElementChild || $("text")).focus({ preventScroll: true });  // move the keyboard focus to the place that is shown
};

const showList = () => {
  const matching = units.filter(fits);
  $("matches").textContent = `${count(matching.length)} of ${count(units.length)}`;
  const items = matching.map((unit) => {
    const why = unit.kind === "failed" ? unit.errors : [...unit.fixes, ...(unit.warnings || [])];
    const item = make("li", { role: "option", tabindex: "-1", "aria-selected": "false" }, visible(unit.unit_id),
      make("small", {}, [unit.kind, unit.step, [...new Set(why.map((fact) => fact.code))].join(" ")].filter(Boolean).join(" · ")));
    item.addEventListener("click", () => {
      for (const other of $("list").children) {
        other.setAttribute("aria-selected", "false");
        other.tabIndex = -1;
      }
      item.setAttribute("aria-selected", "true");
      item.tabIndex = 0;
      showUnit(unit);
    });
    item.addEventListener("keydown", (event) => {
      const { children } = $("list");
      const next = {
        ArrowDown: item.nextElementSibling, ArrowUp: item.previousElementSibling,
        Home: children[0], End: children[children.length - 1], Enter: item, " ": item,
      }[event.key];
      if (next) { event.preventDefault(); next.focus(); next.click(); }
    });
    return item;
  });
  $("list").replaceChildren(...items);
  $("list").scrollTop = 0;
  if (items.length) items[0].click();
  else $("unit").replaceChildren(make("p", { class: "note" }, "No unit in this report matches. The output files contain all units."));
};

// Spans count code points; JavaScript counts UTF-16 units.
const marked = (raw, spoken, id = "raw") => {
  const points = Array.from(raw);
  const spans = spoken.filter((fact) => fact.span && fact.span[1] <= points.length)
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
  return make("pre", { id }, ...out);
};

const shown = (text) => make("pre", {}, visible(text));
const facts = (head, rows, cells) => {
  if (!rows.length) return [];
  const body = rows.map((row) => make("tr", {}, ...cells(row).map((cell) => make("td", {}, cell))));
  return [make("h3", {}, head), make("div", { class: "scroll" }, make("table", {}, make("tbody", {}, ...body)))];
};
const findingCells = (e) => [meaning(e.code), written(e.path), visible(e.message || "")];

const earlier = (unit) => (unit.merged || []).flatMap((reply) => [
  make("h3", {}, `Earlier reply${reply.place ? ` · ${visible(reply.place)}` : ""}`),
  shown(reply.raw_response),
  ...facts("Errors in it", reply.errors, findingCells),
]);

const showUnit = (unit) => {
  const verdict = unit.kind === "failed" ? `failed at ${visible(unit.failure_stage || "")}` : "valid";
  const spoken = [
    ...unit.fixes.map((fix) => ({ ...fix, kind: fix.grade, says: `${fix.code}, ${fix.grade}: ${visible(fix.before)} → ${visible(fix.after)}` })),
    ...unit.errors.map((error) => ({ ...error, kind: "finding", says: `${error.code}: ${visible(error.message || "")}` })),
  ];
  const cut = unit.cut ? [make("p", { class: "note" }, `Only the start is shown: the whole reply has ${count(unit.cut)} characters.`)] : [];
  $("unit").replaceChildren(
    make("h3", {}, visible(unit.unit_id)),
    make("p", {}, make("span", { class: `verdict ${unit.kind}` }, verdict), unit.place ? ` · ${visible(unit.place)}` : ""),
    ...facts("Errors", unit.errors, findingCells),
    ...facts("Warnings", unit.warnings || [], findingCells),
    ...evidenceOf(unit),
    make("h3", {}, "Reply as received"), marked(unit.raw_response, spoken), ...cut,
    ...facts("Fixes", unit.fixes, (f) => [
      meaning(f.code), make("span", { class: `grade ${f.grade}` }, f.grade), written(f.path), written(`${f.before} → ${f.after}`),
    ]),
    ...("data" in unit ? [make("h3", {}, "Value"), shown(unit.data)] : []),
    ...("input" in unit ? [make("h3", {}, "Input"), shown(unit.input)] : []),
    ...earlier(unit),
  );
};

const fill = (name) => {
  const values = [...new Set(units.flatMap(kinds[name]))].filter(Boolean).sort();
  $(name).append(make("option", { value: "" }, "any"), ...values.map((value) => make("option", { value }, visible(value))));
  $(name).parentElement.hidden = !values.length;
};

const start = () => {
  showHead();
  showFunnel();
  showTables();
  explain();
  $("sampled").textContent = data.sampled || units.length < data.of
    ? `A sample: the first units of each code, field and rule, ${count(units.length)} of the ${count(Math.max(data.of, units.length + 1))} or more that failed, were fixed or have a warning. The counts above are complete; all units are in ${data.files}.`
    : `Every unit that failed, was fixed or has a warning${data.grounded.length ? ", and every unit whose values were looked up" : ""}.`;
  for (const name of Object.keys(kinds)) fill(name);
  for (const name of FILTERS) $(name).addEventListener("change", () => { state[name] = $(name).value; showList(); });
  $("text").addEventListener("input", () => { state.text = $("text").value.toLowerCase(); showList(); });
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  showList();
};
start();
