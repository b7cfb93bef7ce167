// Shows the values of a unit beside the text of its sources. A click on a value marks its places there.
// A text is cut into pieces at the start and end of each place. A piece that several places share is marked for the chosen one, else
// for the first.
const pieced = (points, from, spots, chosen) => {
  const edges = new Set([0, points.length]);
  const inside = spots.map(({ start, end, at, kind }) => ({ start: Math.max(start - from, 0), end: Math.min(end - from, points.length), at, kind }))
    .filter(({ start, end }) => start < end);
  for (const { start, end } of inside) edges.add(start).add(end);
  const sorted = [...edges].sort((a, b) => a - b);
  return sorted.slice(0, -1).map((start, place) => {
    const end = sorted[place + 1];
    const over = inside.filter((spot) => spot.start <= start && end <= spot.end);
    const text = visible(points.slice(start, end).join(""));
    if (!over.length) return text;
    const spot = over.find(({ at }) => at === chosen) || over[0];
    return make("mark", { class: `ground ${spot.kind}${spot.at === chosen ? " chosen" : ""}` }, text);
  });
};

const leftOut = (from, to) => (to > from ? [make("p", { class: "note gap" }, `… ${count(to - from)} characters omitted …`)] : []);

const sourceOf = (source, spots, chosen) => {
  const parts = [make("h4", {}, visible(source.name), make("small", {}, ` ${count(source.size)} characters`))];
  let at = 0;
  for (const [start, text] of source.pieces) {
    const points = Array.from(text);  // places count code points; JavaScript counts UTF-16 units
    parts.push(...leftOut(at, start), make("pre", { dir: "auto" }, ...pieced(points, start, spots, chosen)));
    at = start + points.length;
  }
  return [...parts, ...leftOut(at, source.size)];
};

const lacks = (row) => row.kind === "none" || row.kind === "only_in_prompt";
const saysOf = (row) => {
  if (row.kind === "computed") return "computed by a rule";
  if (!("says" in row)) return row.kind === "none" ? "nothing similar" : "";
  return make("span", {}, lacks(row) ? "nearest: " : "", written(row.says), make("small", {}, visible(row.document)));
};

const evidenceOf = (unit) => {
  if (!unit.evidence) return [];
  const where = make("div", { class: "sources", tabindex: "0", role: "region", "aria-label": "Source" });
  const spots = {};
  unit.evidence.forEach((row, at) => {
    for (const [document, start, end] of row.places || []) (spots[document] = spots[document] || []).push({ start, end, at, kind: row.kind });
  });
  const draw = (chosen) => where.replaceChildren(...unit.sources.flatMap((source) => sourceOf(source, spots[source.name] || [], chosen)));
  const lines = unit.evidence.map((row, at) => {
    const name = visible(row.path.replace(/^\$\./, ""));
    const head = row.places ? make("button", { type: "button", "aria-pressed": "false" }, name) : make("span", {}, name);
    if (row.places) head.addEventListener("click", () => {
      for (const other of body.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === head));
      draw(at);
      const mark = where.querySelector("mark.chosen");
      if (!mark) return;  // this part of the source is omitted
      for (const pane of [where, mark.closest("pre")]) {
        const [inner, outer] = [mark.getBoundingClientRect(), pane.getBoundingClientRect()];
        pane.scrollTop += inner.top - outer.top - (pane.clientHeight - inner.height) / 2;
      }
    });
    const grade = make("span", { class: `grade ground ${row.kind}` }, row.title);
    return make("tr", {}, make("td", {}, head), make("td", {}, written(row.value)), make("td", {}, grade), make("td", {}, saysOf(row)));
  });
  const body = make("tbody", {}, ...lines);
  body.addEventListener("keydown", (event) => {
    const buttons = [...body.querySelectorAll("button")];
    const next = buttons[buttons.indexOf(document.activeElement) + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] || NaN)];
    if (next) { event.preventDefault(); next.focus(); next.click(); }
  });
  const heads = ["field", "value", "evidence", "in the source"].map((name) => make("th", { scope: "col" }, name));
  const table = make("div", { class: "scroll" }, make("table", { id: "evidence" }, make("thead", {}, make("tr", {}, ...heads)), body));
  if (unit.evidence_more) table.append(make("p", { class: "note" }, `${count(unit.evidence_more)} more values are in the record.`));
  draw(-1);
  const lacking = unit.evidence.some((row) => row.says && !row.places);
  return [
    make("h3", {}, "Values and their evidence"),
    ...(unit.sources.length || !lacking ? [] : [make("p", { class: "note" }, "The record does not include the source, so its places cannot be shown.")]),
    make("div", { class: unit.sources.length ? "beside" : "" }, table, ...(unit.sources.length ? [where] : [])),
  ];
};
