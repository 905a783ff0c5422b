"use strict";

/* Reads the data of the page: inert JSON whose large parts are gzip files in Base64. */

async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

class Study {
  constructor(content, table) {
    Object.assign(this, content, table);
    this.count = table.best.length;
    this.opened = new Map();
  }

  static async read() {
    const content = JSON.parse(document.getElementById("explore-data").textContent);
    return new Study(content, await unpack(content.table));
  }

  /* Values are on a scale from 0 to 1; numbers are shown on the user's scale, as everywhere on the page. */
  raw(context, model) {
    return this.values[context * this.models.length + model] / this.units;
  }

  /* A mean outcome lies on the scale; costs are subtracted from it, as everywhere on the page. */
  value(context, model) {
    return Math.min(Math.max(this.raw(context, model), 0), 1) - this.cost[model];
  }

  margin(context, model, other) {
    return this.raw(context, model) - this.cost[model] - this.raw(context, other) + this.cost[other];
  }

  showValue(number) {
    return this.unsignedZero((this.scale.low + this.scale.width * number).toFixed(this.scale.decimals));
  }

  showDifference(number) {
    const size = Math.abs(this.scale.width) * number;
    return this.unsignedZero((size < 0 ? "" : "+") + size.toFixed(this.scale.decimals));
  }

  unsignedZero(text) {
    return Number(text) === 0 ? text.replace(/^[+-]/, "") : text;
  }

  label(context) {
    const text = this.texts.length ? this.texts[context] : "";
    const line = text.replace(/\s+/g, " ").trim().slice(0, 200);
    return line || this.ids[context] || "(empty)";
  }

  /* The outputs of a context, one per model; null where there is no text. */
  async outputs(context) {
    const number = Math.floor(context / this.blockContexts);
    if (!this.blocks.length) return { outputs: null, draws: null };
    if (!this.opened.has(number)) this.opened.set(number, unpack(this.blocks[number]));
    const block = await this.opened.get(number);
    const at = context - number * this.blockContexts;
    return { outputs: block.outputs[at], draws: block.draws[at] };
  }
}
