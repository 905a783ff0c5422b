/* The table of contexts: search, filter, sort, and only as many rows in the document as can be seen. */

const ROW_HEIGHT = 45;
const EXTRA_ROWS = 6;

class ContextTable {
  constructor(study, comparison) {
    this.study = study;
    this.comparison = comparison;
    this.scroller = document.getElementById("rows");
    this.table = document.getElementById("contexts");
    this.body = this.table.tBodies[0];
    this.labels = Array.from({ length: study.count }, (_, context) => study.label(context));
    this.searched = null;
    this.sort = { key: "", direction: 1 };
    this.places = null;
    this.chosen = -1;
    this.listen();
    this.choose();
  }

  listen() {
    const models = document.getElementById("filter-model");
    [...new Set(this.study.best)].sort((a, b) => a - b).forEach((model) => {
      const option = element("option", "", this.study.models[model]);
      option.value = model;
      models.append(option);
    });
    this.filters = this.study.segments.map((column) => this.segmentFilter(column));
    for (const id of ["search", "filter-model", "filter-verdict"]) {
      document.getElementById(id).addEventListener("input", () => this.choose());
    }
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    window.addEventListener("resize", () => this.draw());
    for (const button of this.table.tHead.querySelectorAll("button")) {
      button.addEventListener("click", () => this.sortBy(button.dataset.sort));
    }
    this.body.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) this.open(Number(button.dataset.context));
    });
    this.body.addEventListener("keydown", (event) => this.move(event));
  }

  /* A choice between the segments of one column, beside the other choices. */
  segmentFilter(column) {
    const label = element("label", "", column.column + " "), select = element("select", "filter-segment");
    for (const [value, name] of [["", "all"], ...column.names.map((name, code) => [code, name])]) {
      const option = element("option", "", name);
      option.value = value;
      select.append(option);
    }
    select.addEventListener("input", () => this.choose());
    label.append(select);
    document.getElementById("status").before(label);
    return { select, codes: column.codes };
  }

  sortBy(key) {
    const numeric = key === "value" || key === "margin" || key === "clear";
    const same = this.sort.key === key;
    this.sort = { key, direction: same ? -this.sort.direction : numeric ? -1 : 1 };
    this.choose();
  }

  rank(key) {
    const study = this.study;
    if (key === "best" || key === "runnerUp") return (context) => study[key][context];
    if (key === "value") return (context) => study.value(context, study.best[context]);
    if (key === "margin") return (context) => study.margin(context, study.best[context], study.runnerUp[context]);
    if (key === "clear") return (context) => study.clear[context];
    if (key === "context") return (context) => this.alphabet()[context];
    return () => 0;
  }

  /* Where each context stands by the text that is shown of it. */
  alphabet() {
    if (!this.places) {
      const order = this.labels.map((_, context) => context);
      const compare = new Intl.Collator("en", { numeric: true }).compare;
      order.sort((a, b) => compare(this.labels[a], this.labels[b]));
      this.places = new Uint32Array(order.length);
      order.forEach((context, place) => { this.places[context] = place; });
    }
    return this.places;
  }

  searchable(context) {
    return ((this.study.ids[context] || "") + " " + (this.study.texts[context] || "")).toLowerCase();
  }

  choose() {
    const words = document.getElementById("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const model = document.getElementById("filter-model").value;
    const verdict = document.getElementById("filter-verdict").value;
    if (words.length && !this.searched) this.searched = this.labels.map((_, context) => this.searchable(context));
    const segments = this.filters.filter((each) => each.select.value !== "");
    this.order = [];
    for (let context = 0; context < this.study.count; context++) {
      if (model !== "" && this.study.best[context] !== Number(model)) continue;
      if (verdict !== "" && this.study.clear[context] !== Number(verdict)) continue;
      if (segments.some((each) => each.codes[context] !== Number(each.select.value))) continue;
      if (!words.every((word) => this.searched[context].includes(word))) continue;
      this.order.push(context);
    }
    const { key, direction } = this.sort, rank = this.rank(key);
    this.order.sort((a, b) => direction * (rank(a) - rank(b)) || a - b);
    for (const button of this.table.tHead.querySelectorAll("button")) {
      const state = button.dataset.sort !== key ? "none" : direction > 0 ? "ascending" : "descending";
      button.parentElement.setAttribute("aria-sort", state);
    }
    const shown = this.order.length.toLocaleString("en"), all = this.study.count.toLocaleString("en");
    document.getElementById("status").textContent = shown + " of " + all + " contexts";
    this.table.setAttribute("aria-rowcount", this.order.length + 1);
    this.scroller.scrollTop = 0;
    this.draw();
  }

  draw() {
    const visible = Math.ceil(this.scroller.clientHeight / ROW_HEIGHT) + 2 * EXTRA_ROWS;
    const first = Math.max(Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - EXTRA_ROWS, 0);
    const last = Math.min(first + visible, this.order.length);
    const focused = document.activeElement && document.activeElement.dataset.context;
    const rows = [this.padding(first)];
    for (let at = first; at < last; at++) rows.push(this.row(at));
    rows.push(this.padding(this.order.length - last));
    this.body.replaceChildren(...rows);
    if (focused !== undefined) this.focus(Number(focused));
  }

  padding(count) {
    const row = element("tr"), cell = element("td", "pad");
    row.setAttribute("aria-hidden", "true");
    cell.style.height = count * ROW_HEIGHT + "px";
    row.append(cell);
    return row;
  }

  row(at) {
    const study = this.study, context = this.order[at], best = study.best[context], other = study.runnerUp[context];
    const row = element("tr", context === this.chosen ? "chosen" : "");
    row.setAttribute("aria-rowindex", at + 2);
    const button = element("button", "open", this.labels[context]);
    button.type = "button";
    button.dataset.context = context;
    button.setAttribute("aria-expanded", String(context === this.chosen));
    button.setAttribute("aria-controls", "detail");
    const cell = element("td");
    cell.append(button);
    const model = element("td", "name"), runnerUp = element("td", "extra name");
    model.append(element("span", "", study.models[best]));
    runnerUp.append(element("span", "", study.models[other]));
    model.title = study.models[best];
    runnerUp.title = study.models[other];
    row.append(
      cell,
      model,
      element("td", "number extra", study.showValue(study.value(context, best))),
      runnerUp,
      element("td", "number", study.showDifference(study.margin(context, best, other))),
      element("td", "extra", study.clear[context] ? "clear" : "cannot tell"),
    );
    return row;
  }

  open(context) {
    this.chosen = context;
    this.draw();
    this.comparison.show(context);
  }

  focus(context) {
    const button = this.body.querySelector('[data-context="' + context + '"]');
    if (button) button.focus({ preventScroll: true });
  }

  move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const button = event.target.closest("button");
    if (!step || !button) return;
    event.preventDefault();
    const at = this.order.indexOf(Number(button.dataset.context)) + step;
    if (at < 0 || at >= this.order.length) return;
    const top = at * ROW_HEIGHT, height = this.scroller.clientHeight - 2 * ROW_HEIGHT;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top > this.scroller.scrollTop + height) this.scroller.scrollTop = top - height;
    this.draw();
    this.focus(this.order[at]);
  }
}

async function start() {
  for (const part of document.querySelectorAll(".controls, .explorer")) part.hidden = false;
  if (typeof DecompressionStream === "undefined") {
    document.getElementById("status").textContent = "This browser is too old to unpack the table.";
    return;
  }
  const study = await Study.read();
  const table = new ContextTable(study, new Comparison(study, document.getElementById("detail")));
  table.open(table.order[0]);
  document.documentElement.dataset.ready = "true";
}

start();
