const WORDS = { valid_to_failed: "valid → failed", failed_to_valid: "failed → valid", other_value: "valid, another value" };
const signed = (n) => (n > 0 ? "+" : n < 0 ? "−" : "=") + (n ? count(Math.abs(n)) : "");
const difference = (n, worse) => make("span", { class: n && worse ? (n > 0 ? "worse" : "better") : "" }, signed(n));

const showHead = () => {
  $("about").textContent = visible(`A: ${data.a.path} · B: ${data.b.path}`);
  document.title = data.differs ? "trueup compare: A and B differ" : "trueup compare: nothing differs";
  const { flips } = data;
  $("tiles").append(
    tile(flips.valid_to_failed.units, "valid → failed", flips.valid_to_failed.units ? "bad" : ""),
    tile(flips.failed_to_valid.units, "failed → valid", flips.failed_to_valid.units ? "good" : ""),
    tile(flips.other_value.units, "valid, another value"),
    tile(data.other_errors.units, "failed, other errors"),
    tile(data.only_in_a.units, "only in A"),
    tile(data.only_in_b.units, "only in B"),
    tile(data.same, "the same"),
  );
  const lines = [];
  for (const name of ["a", "b"]) {
    const side = data[name];
    if (side.state !== "done") lines.push(`${name.toUpperCase()} is ${side.state}: it is compared as far as it is.`);
    if (side.damaged.lines) {
      lines.push(`${name.toUpperCase()}: lines that are not records and left out: ${count(side.damaged.lines)} (${side.damaged.places.join(", ")})`);
    }
  }
  notes(lines);
};

const showSides = () => {
  const number = (name, a, b, worse = false) => ({ name, a: count(a), b: count(b), change: difference(b - a, worse), sort: b - a });
  const text = (name, of) => ({ name, a: visible(of(data.a)), b: visible(of(data.b)), change: "", sort: 0 });
  const rows = [text("kind", (side) => `${side.kind}, ${side.state}`)];
  for (const name of ["units", "valid", "failed", "pending"]) {
    if (name !== "pending" || data.a.counts.pending || data.b.counts.pending) {
      rows.push(number(name, data.a.counts[name], data.b.counts[name], name === "failed"));
    }
  }
  if (data.a.money && data.b.money) {
    for (const [name, key] of [["calls", "calls"], ["tokens in", "input_tokens"], ["tokens out", "output_tokens"]]) {
      rows.push(number(name, data.a.money[key], data.b.money[key]));
    }
  }
  const cost = (side) => (!side.money ? "–" : side.money.unpriced && side.money.unpriced === side.money.calls ? "unknown"
    : `$${side.money.usd.toFixed(4)}${side.money.unpriced ? ` + ${count(side.money.unpriced)} unknown` : ""}`);
  if (data.a.money || data.b.money) rows.push(text("cost", cost));
  rows.push(text("time", (side) => (side.seconds ? `${side.seconds.toFixed(1)} s · ${count(Math.round(side.units_per_second))} units/s` : "–")));
  sortable("sides", [
    { name: "measure", value: (row) => row.name },
    { name: "A", value: (row) => row.a, cell: (row) => row.a, number: true },
    { name: "B", value: (row) => row.b, cell: (row) => row.b, number: true },
    { name: "difference", value: (row) => row.sort, cell: (row) => row.change, number: true },
  ], rows);
};

const showFindings = () => {
  for (const [id, word] of [["codes", "code"], ["paths", "field"], ["rules", "rule"], ["fixes", "fix"]]) {
    const rows = data.findings[id].flatMap((row) =>
      ["failed", "warned", "fixed"].filter((kind) => row[kind] && (row[kind].a || row[kind].b)).map((kind) => ({ ...row, kind, ...row[kind] })));
    const coded = id === "codes" || id === "fixes";
    const cell = (row) => (coded ? make("span", {}, meaning(row.key), make("small", {}, row.name || "")) : written(row.key));
    const change = (row) => difference(row.difference, row.kind !== "fixed");
    const number = (name) => ({ name: name.toUpperCase(), value: (row) => row[name], number: true });
    sortable(id, [
      { name: word, value: (row) => row.key, cell }, { name: "units", value: (row) => row.kind }, number("a"), number("b"),
      { name: "difference", value: (row) => row.difference, cell: change, number: true },
    ], rows);
  }
};

const showValues = () => {
  const rows = Object.entries(data.values).map(([path, row]) => ({ path, ...row }));
  const number = (name) => ({ name, value: (row) => row[name], number: true });
  sortable("values", [
    { name: "field", value: (row) => row.path, cell: (row) => written(row.path) }, number("units"), number("changed"), number("added"),
    number("removed"),
    { name: "example", value: (row) => row.example.unit_id,
      cell: (row) => make("span", {}, visible(row.example.unit_id), make("br"), written(`${row.example.before || "absent"} → ${row.example.now || "absent"}`)) },
  ], rows);
};

const showFlips = () => {
  const rows = Object.entries(data.flips).flatMap(([kind, { examples }]) => examples.map((flip) => ({ kind: WORDS[kind], flip })));
  for (const [name, kind] of [["other_errors", "failed, other errors"], ["only_in_a", "only in A"], ["only_in_b", "only in B"]]) {
    rows.push(...data[name].examples.map((id) => ({ kind, flip: { unit_id: id, errors_before: [], errors_now: [] } })));
  }
  const errors = (facts) => {
    const cell = make("span");
    for (const error of facts) {
      cell.append(make("div", {}, meaning(error.code), " ", written(error.path || "$"), " ", visible(error.message || "")));
    }
    return cell;
  };
  const cut = (value) => (value === undefined ? "" : visible(JSON.stringify(value)).slice(0, 2000));
  const outcome = (flip, name) =>
    (`data_${name}` in flip ? make("code", {}, cut(flip[`data_${name}`])) : errors(flip[`errors_${name}`]));
  sortable("flips", [
    { name: "kind", value: (row) => row.kind }, { name: "unit", value: (row) => row.flip.unit_id },
    { name: "A", value: (row) => row.flip.was || "", cell: (row) => outcome(row.flip, "before") },
    { name: "B", value: (row) => row.flip.now || "", cell: (row) => outcome(row.flip, "now") },
  ], rows);
};

showHead();
showSides();
showFindings();
showValues();
showFlips();
explain();
