"use strict";
// Shared by the pages. Everything from a reply is set as text, never as markup.
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

// Control characters are made visible, and so are characters that change the direction of text or hide it.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]|\udb40[\udc00-\udc7f]/g;
const visible = (text) => text.replace(HIDDEN, (sign) => {
  const point = sign.codePointAt(0);
  return point < 32 ? String.fromCodePoint(0x2400 + point) : "⟨U+" + point.toString(16).toUpperCase().padStart(4, "0") + "⟩";
});
const written = (text) => make("code", {}, visible(text));
const folded = (path) => path.replace(/\[\d+\]|"(?:[^"\\]|\\.)*"/g, (part) => (part[0] === "[" ? "[]" : part));
const tile = (n, label, kind = "") =>
  make("div", { class: kind }, make("b", {}, typeof n === "number" ? count(n) : n), make("span", {}, label));
const notes = (lines) => {
  $("notes").replaceChildren(...lines.map((line) => make("p", { class: "banner" }, visible(line))));
};

// A code that the page explains is a link to its explanation.
const meaning = (code) =>
  code in data.explained ? make("a", { href: `#explain-${code}`, title: data.explained[code].title }, code) : make("span", {}, code);
const listed = (codes) => {
  const cell = make("span", { class: "codes" });
  for (const [code, n] of Object.entries(codes)) cell.append(meaning(code), ` ×${count(n)} `);
  return cell;
};

// A table that can be sorted by any column. A column has a name, the value to sort by (null is always last), and the cell to show.
const sortable = (id, columns, rows, { pick = null, empty = "none" } = {}) => {
  const body = make("tbody");
  const heads = columns.map((column) => make("th", { scope: "col", "aria-sort": "none", class: column.number ? "num" : "" }));
  const order = { at: -1, down: false };
  const draw = () => {
    const sorted = [...rows];
    if (order.at >= 0) {
      const { value } = columns[order.at];
      const sign = order.down ? -1 : 1;
      sorted.sort((a, b) => {
        const [left, right] = [value(a), value(b)];
        if (left === null || right === null) return (left === null) - (right === null);
        return sign * (left < right ? -1 : left > right ? 1 : 0);
      });
    }
    body.replaceChildren(...sorted.map((row) => {
      const cells = columns.map((column) => {
        const shown = column.cell ? column.cell(row) : column.number ? count(column.value(row)) : visible(String(column.value(row)));
        return make("td", column.number ? { class: "num" } : {}, shown);
      });
      const line = make("tr", pick ? { class: "pick" } : {}, ...cells);
      if (pick) line.addEventListener("click", (event) => { if (!event.target.closest("a")) pick(row); });
      return line;
    }));
    if (!rows.length) body.append(make("tr", {}, make("td", { colspan: columns.length }, empty)));
  };
  heads.forEach((head, at) => {
    const button = make("button", { type: "button" }, columns[at].name);
    button.addEventListener("click", () => {
      order.down = order.at === at ? !order.down : Boolean(columns[at].number);
      order.at = at;
      heads.forEach((other, place) => other.setAttribute("aria-sort", place !== at ? "none" : order.down ? "descending" : "ascending"));
      draw();
    });
    head.append(button);
  });
  draw();
  $(id).append(make("thead", {}, make("tr", {}, ...heads)), body);
};

const explain = () => {
  const inline = (text) => text.split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));
  const panels = Object.entries(data.explained).map(([code, row]) => {
    const panel = make("details", { id: `explain-${code}` }, make("summary", {}, row.title));
    for (const [title, paragraphs, example] of row.sections) {
      panel.append(make("h3", {}, title), ...paragraphs.map((text) => make("p", {}, ...inline(text))));
      if (example) panel.append(make("pre", {}, example));
    }
    return panel;
  });
  $("explanations").append(...panels);
  $("explained").hidden = !panels.length;
  const open = () => {
    const panel = location.hash.startsWith("#explain-") ? document.getElementById(location.hash.slice(1)) : null;
    if (!panel) return;
    panel.open = true;
    panel.scrollIntoView();
    panel.firstElementChild.focus({ preventScroll: true });
  };
  addEventListener("hashchange", open);
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#explain-"]');
    if (link && link.getAttribute("href") === location.hash) open();  // the address does not change, so the browser would do nothing
  });
  open();
};
