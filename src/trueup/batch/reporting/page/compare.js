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
    tile(data.same, "same on both sides"),
  );
  const lines = [];
  for (const name of ["a", "b"]) {
    const side = data[name];
    const pending = side.counts.pending ? `, ${count(side.counts.pending)} units pending` : "";
    if (side.state !== "done") lines.push(`${name.toUpperCase()} is ${side.state}${pending}, so the comparison covers only what it has so far.`);
    if (side.damaged.lines) {
      lines.push(`${name.toUpperCase()}: lines left out because they are not records: ${count(side.damaged.lines)} (${side.damaged.places.join(", ")})`);
    }
  }
  notes(lines);
};

const showSides = () => {
  const sides = [data.a, data.b];
  // A row: the text shown for A and B, the values for sorting (null for text), and the difference if both are known.
  const row = (name, shown, sorted, known, change) => {
    const apart = known ? sorted[1] - sorted[0] : null;
    return { name, a: shown[0], b: shown[1], sorted, apart, change: known ? change(apart) : "" };
  };
  const number = (name, of, worse = false) => {
    const numbers = sides.map(of);
    return row(name, numbers.map((n) => (n === null ? "–" : count(n))), numbers, !numbers.includes(null), (n) => difference(n, worse));
  };
  const rows = [row("kind", sides.map((side) => visible(`${side.kind}, ${side.state}`)), [null, null], false)];
  for (const name of ["units", "valid", "failed", "pending"]) {
    if (name !== "pending" || data.a.counts.pending || data.b.counts.pending) {
      rows.push(number(name, (side) => side.counts[name], name === "failed"));
    }
  }
  if (data.a.money || data.b.money) {
    for (const [name, key] of [["calls", "calls"], ["tokens in", "input_tokens"], ["tokens out", "output_tokens"]]) {
      rows.push(number(name, (side) => (side.money ? side.money[key] : null)));
    }
    const cost = ({ money }) => (!money ? "–" : money.unpriced && money.unpriced === money.calls ? "unknown"
      : `$${money.usd.toFixed(4)}${money.unpriced ? ` + ${count(money.unpriced)} unknown` : ""}`);
    const priced = sides.every(({ money }) => money && !money.unpriced);
    const dollars = (n) => make("span", {}, `${n < 0 ? "−" : "+"}${Math.abs(n).toFixed(4)}`);
    rows.push(row("cost", sides.map(cost), sides.map(({ money }) => (money ? money.usd : null)), priced, dollars));
  }
  const time = (side) => (side.seconds ? `${side.seconds.toFixed(1)} s · ${count(Math.round(side.units_per_second))} units/s` : "–");
  rows.push(row("time", sides.map(time), sides.map((side) => side.seconds || null), false));
  sortable("sides", [
    { name: "measure", value: (row) => row.name },
    { name: "A", value: (row) => row.sorted[0], cell: (row) => row.a, number: true },
    { name: "B", value: (row) => row.sorted[1], cell: (row) => row.b, number: true },
    { name: "difference", value: (row) => row.apart, cell: (row) => row.change, number: true },
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

const showGrounded = () => {
  const rows = (data.grounded || []).map((row) => ({ key: row.key, values: row.values, ...row.rate }));
  $("h-grounded").parentElement.hidden = !rows.length;
  const percent = (rate) => (rate === null ? "–" : `${(100 * rate).toFixed(1)} %`);
  const side = (name) => [
    { name: `values in ${name.toUpperCase()}`, value: (row) => row.values[name], number: true },
    { name: `grounded in ${name.toUpperCase()}`, value: (row) => row[name], cell: (row) => percent(row[name]), number: true },
  ];
  sortable("grounded", [{ name: "field", value: (row) => row.key, cell: (row) => written(row.key) }, ...side("a"), ...side("b")], rows);
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
  const outcome = (flip, name) => (`data_${name}` in flip ? written(flip[`data_${name}`]) : errors(flip[`errors_${name}`]));
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
showGrounded();
showFlips();
explain();
