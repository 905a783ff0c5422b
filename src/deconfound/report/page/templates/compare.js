/* One context: its text, the values of all models, and the outputs of two of them side by side. */

const FOLD_CHARACTERS = 700;
const MAX_DIFF_CELLS = 4000000;

/* A text, or marked nodes and their length; a long one is folded. */
function folded(text) {
  const box = element("div", "text");
  box.dir = "auto";
  if (typeof text === "string") box.textContent = text;
  else box.append(...text.nodes);
  if (text.length <= FOLD_CHARACTERS) return [box];
  box.classList.add("folded");
  const button = element("button", "unfold", "Show all");
  button.type = "button";
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", () => {
    const isFolded = box.classList.toggle("folded");
    button.textContent = isFolded ? "Show all" : "Fold";
    button.setAttribute("aria-expanded", String(!isFolded));
  });
  return [box, button];
}

/* Marks of the words that only one text has: the longest common subsequence of words. */
function differingWords(one, other) {
  const a = one.split(/(\s+)/), b = other.split(/(\s+)/);
  const n = a.length, m = b.length, width = m + 1;
  if (n * m > MAX_DIFF_CELLS) return null;
  const longest = new Uint16Array((n + 1) * width);
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      longest[i * width + j] = a[i] === b[j]
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const onlyA = new Array(n).fill(true), onlyB = new Array(m).fill(true);
  for (let i = 0, j = 0; i < n && j < m;) {
    if (a[i] === b[j]) { onlyA[i++] = false; onlyB[j++] = false; }
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i++;
    else j++;
  }
  return [marked(a, onlyA, "del"), marked(b, onlyB, "ins")];
}

function marked(words, only, tag) {
  const nodes = [];
  let length = 0;
  for (let i = 0; i < words.length;) {
    let end = i;
    while (end < words.length && only[end] === only[i]) end++;
    const text = words.slice(i, end).join("");
    nodes.push(only[i] && text.trim() ? element(tag, "", text) : document.createTextNode(text));
    length += text.length;
    i = end;
  }
  return { nodes, length };
}

class Comparison {
  constructor(study, box) {
    this.study = study;
    this.box = box;
    this.shown = -1;
  }

  async show(context) {
    const study = this.study;
    this.shown = context;
    const best = study.best[context];
    const content = await study.outputs(context);
    if (this.shown !== context) return;
    const parts = [element("h3", "", study.ids.length ? study.ids[context] : "Context " + (context + 1))];
    if (study.texts.length) parts.push(...folded(study.texts[context]));
    const margin = element("p", "margin");
    margin.setAttribute("role", "status");
    const pair = element("div", "pair-view");
    const first = this.side("First model", best), second = this.side("Second model", study.runnerUp[context]);
    const update = () => this.fill(context, content, first, second, margin);
    for (const side of [first, second]) side.select.addEventListener("change", update);
    pair.append(first.box, second.box);
    parts.push(margin, pair, element("h3", "", study.valueName[0].toUpperCase() + study.valueName.slice(1) + " of every model on this context"), this.values(context));
    this.box.replaceChildren(...parts);
    update();
  }

  side(name, model) {
    const box = element("div", "side"), label = element("label", "", name), select = element("select");
    this.study.models.forEach((each, at) => {
      const option = element("option", "", each);
      option.value = at;
      select.append(option);
    });
    select.value = model;
    label.append(" ", select);
    const amount = element("p", "amount"), text = element("div");
    box.append(label, amount, text);
    return { box, select, amount, text };
  }

  fill(context, content, first, second, margin) {
    const study = this.study;
    const models = [first, second].map((side) => Number(side.select.value));
    [first, second].forEach((side, at) => {
      const draws = content.draws ? content.draws[models[at]] : 1;
      side.amount.textContent = study.valueName + " " + study.showValue(study.value(context, models[at])) +
        (draws > 1 ? " \u00b7 first of " + draws + " draws" : "");
    });
    const ahead = study.margin(context, models[0], models[1]);
    const verdict = study.clear[context] ? "clear" : "cannot tell";
    const size = (study.showDifference(Math.abs(ahead)).slice(1) + " " + study.scale.unit).trim();
    margin.textContent = models[0] === models[1] ? "The same model twice." :
      study.models[models[0]] + " is " + (ahead < 0 ? "behind " : "ahead of ") + study.models[models[1]] + " by " +
      size + ". Verdict on " + study.models[study.best[context]] + ", recommended for this context: " + verdict + ".";
    if (!content.outputs) return;
    const texts = models.map((model) => content.outputs[model] ?? "(not replayed)");
    const marks = differingWords(texts[0], texts[1]) || texts;
    first.text.replaceChildren(...folded(marks[0]));
    second.text.replaceChildren(...folded(marks[1]));
  }

  values(context) {
    const study = this.study, list = element("ul", "model-values");
    const order = study.models.map((_, model) => model).sort((a, b) => study.margin(context, b, a));
    for (const model of order) {
      const row = element("li"), name = element("span", "name", study.models[model]);
      name.title = study.models[model];
      const meter = element("span", "meter"), fill = element("div", "fill");
      fill.style.width = Math.max(100 * study.value(context, model), 0) + "%";
      meter.append(fill);
      row.append(name, meter, element("span", "", study.showValue(study.value(context, model))));
      list.append(row);
    }
    return list;
  }
}
