const pair = (list, name, value, kind = "") => list.append(make("dt", { class: kind.includes("strong") ? "strong" : "" }, visible(name)), make("dd", { class: kind }, value));
const rate = (kind) => data.rates[kind];

const showHead = () => {
  $("about").textContent = visible(`${data.new} against ${data.old} · ${data.sources.join(", ")}`);
  document.title = visible(`trueup backtest: ${data.new}`);
  $("conclusion").textContent = visible(data.conclusion);
  notes(data.complete ? [] : [`Not complete: ${data.share} of the sources were read, in random order. The counts cover only that part.`]);
  const card = (number, label, small, kind = "") =>
    make("div", { class: `card ${kind}` }, make("b", {}, typeof number === "number" ? count(number) : number), make("span", {}, label), make("small", {}, small));
  const shown = (kind) => `${rate(kind).share} · ${rate(kind).interval}`;
  const [retries, ...amounts] = data.cost.rows;
  const cards = [
    card(rate("newly_accepted").count, "newly accepted", shown("newly_accepted"), rate("newly_accepted").count ? "good" : ""),
    card(rate("newly_refused").count, "newly refused", shown("newly_refused"), rate("newly_refused").count ? "bad" : ""),
  ];
  if (rate("value_changed").count) cards.push(card(rate("value_changed").count, "another value", shown("value_changed")));
  cards.push(card(rate("unchanged").count, "unchanged", `McNemar ${data.p}`));
  if (data.cost.known) {
    const known = amounts.slice(0, 3).filter(([, amount]) => amount !== "unknown");
    cards.push(card(retries[1], data.cost.per === "month" ? "retries a month" : "retries", known.map(([name, amount]) => `${name} ${amount}`).join(" · ") || "tokens and cost unknown"));
  }
  $("cards").append(...cards);
};

const showFacts = () => {
  const replies = $("replies");
  pair(replies, "selected", count(data.total), "strong");
  pair(replies, "judged under both", count(data.judged));
  for (const { count: n, why } of data.unjudgeable) pair(replies, `not judged: ${why}`, count(n));
  pair(replies, "refused before", `${count(rate("refused_before").count)} · ${rate("refused_before").share}`);
  pair(replies, "refused now", `${count(rate("refused").count)} · ${rate("refused").share}`);
  for (const [name, value] of data.tests) pair($("statistics"), name, value);
  const labels = $("labels");
  pair(labels, "labelled replies", count(data.labels.replies), "strong");
  pair(labels, "flips that are better", count(data.labels.better), data.labels.better ? "good" : "");
  pair(labels, "flips that are worse", count(data.labels.worse), data.labels.worse ? "bad" : "");
  pair(labels, "flips without a label", count(data.labels.unlabelled));
  for (const group of [data.labels.words, data.labels.outcomes]) {
    for (const [kind, words] of Object.entries(group)) {
      for (const [word, n] of Object.entries(words).slice(0, 5)) pair(labels, `${data.kinds[kind]}: ${word}`, count(n));
    }
  }
  if (data.cost.known) for (const [name, amount] of data.cost.rows) pair($("cost"), name, amount);
  $("h-cost").textContent = data.cost.per === "month" ? "Cost a month" : "Cost of these replies";
  $("how").textContent = visible(data.cost.how);
};

const marked = (example) => {
  const cell = make("span");
  if (example.kind === "value_changed") {
    cell.append(written(example.path), " ", written(example.before || "absent"), " → ", written(example.after || "absent"));
    cell.append(make("small", {}, visible(example.text.slice(0, 120))));
    return cell;
  }
  const text = [...example.text];
  const [start, end] = example.span || [0, 0];
  const part = (from, to) => visible(text.slice(from, to).join(""));
  cell.append(part(0, start));
  if (end > start) cell.append(make("mark", { class: example.now === "refused" ? "now" : "was" }, part(start, end)));
  cell.append(part(Math.max(start, end)));
  if (example.message) cell.append(make("small", {}, visible(example.message)));
  return cell;
};

const pill = (word) => make("span", { class: `pill ${word}` }, word === "accepted" ? "ok" : word);
const WORDS = { better: "now right", worse: "now wrong", unlabelled: "not labelled" };
const TONES = { better: "better", worse: "worse", unlabelled: "soft" };
const TITLES = { state: "State", model: "Model", tenant: "Tenant" };
const CHOICES = [["kind", "direction"], ["reason", "rule"], ["model", "model"], ["state", "state"], ["tenant", "tenant"]];

const showFlips = () => {
  const chosen = {};
  const wanted = (row) => Object.entries(chosen).every(([name, value]) => !value || row[name] === value);
  const draw = () => {
    const rows = data.examples.filter(wanted);
    const shown = Object.keys(TITLES).filter((name) => data.examples.some((row) => row[name]));
    const rest = (row) => shown.slice(1).map((name) => row[name]).filter(Boolean).join(" · ");
    const columns = [
      ["Old → new", (row) => make("td", { class: "way" }, pill(row.was), " → ", pill(row.now))],
      ["Reply", (row) => make("td", { class: "reply" }, marked(row))],
      ...(shown.length ? [[TITLES[shown[0]], (row) => make("td", { class: "word" }, visible(row[shown[0]] || "–"), make("small", {}, visible(rest(row))))]] : []),
      ["Rule", (row) => make("td", { class: "key" }, written(row.reason.split(" ")[0]), make("small", {}, visible(row.reason.split(" ").slice(1).join(" "))))],
      ["Label", (row) => make("td", { class: "tag" }, make("span", { class: TONES[row.label] }, WORDS[row.label]))],
    ];
    const head = make("tr", {}, ...columns.map(([title]) => make("th", { scope: "col" }, title)));
    const body = make("tbody", {}, ...rows.map((row) => make("tr", { title: row.id }, ...columns.map(([, cell]) => cell(row)))));
    if (!rows.length) body.append(make("tr", {}, make("td", { class: "word", colspan: columns.length }, data.flips ? "No example with these filters." : "Nothing flips.")));
    $("flips").replaceChildren(make("thead", {}, head), body);
    const labelled = data.labels.better + data.labels.worse;
    const some = rows.length < data.flips ? ` · ${count(rows.length)} shown, chosen at random, without repeated replies` : "";
    $("foot").textContent = `${count(data.flips)} flips${some} · ${count(labelled)} labelled: ${count(data.labels.better)} better, ${count(data.labels.worse)} worse · judged ${count(data.judged)} in ${data.seconds} s`;
  };
  for (const [name, word] of CHOICES) {
    const keys = [...new Set(data.examples.map((row) => row[name]).filter(Boolean))].sort();
    if (keys.length < 2) continue;
    const select = make("select", { "aria-label": `by ${word}` }, make("option", { value: "" }, `by ${word}`));
    for (const key of keys) {
      const option = make("option", {}, visible(name === "kind" ? data.kinds[key] : key));
      option.value = key;
      select.append(option);
    }
    select.addEventListener("change", () => { chosen[name] = select.value; draw(); });
    $("filters").append(select);
  }
  draw();
};

const showGroups = () => {
  const titles = { reason: "By rule and place", code: "By code", path: "By path", model: "By model", state: "By state", tenant: "By tenant" };
  for (const [name, title] of Object.entries(titles)) {
    const rows = data.groups[name];
    if (!rows.length || (name === "path" && rows.every((row) => row.key === "$"))) continue;
    const table = make("table", { id: `group-${name}` });
    $("groups").append(make("section", { "aria-labelledby": `h-${name}` }, make("h2", { id: `h-${name}` }, title),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": `h-${name}` }, table)));
    sortable(`group-${name}`, [
      { name, value: (row) => row.key, cell: (row) => written(row.key) },
      { name: "direction", value: (row) => data.kinds[row.kind] },
      { name: "replies", value: (row) => row.count, number: true },
      ...(rows.some((row) => row.of) ? [{ name: "of", value: (row) => row.of || 0, number: true }] : []),
    ], rows);
  }
};

showHead();
showFacts();
showFlips();
showGroups();
