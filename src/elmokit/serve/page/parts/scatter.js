// A scatter plot of uses on a canvas: hover, click, lasso, keyboard.

import { element, svgElement } from "./elements.js";
import { styleOf } from "./palette.js";
import { isInside } from "./planes.js";
import { shapePath } from "./shapes.js";

const NEAR = 14;
const MOST_NAMES = 7;

export class Scatter {
  /** on: {hover(use or null), pick(set of uses)}; describe(use) is the text of the small label. */
  constructor(on, describe) {
    this.on = on;
    this.describe = describe;
    this.planes = null;
    this.picked = new Set();
    this.hovered = null;
    this.layer = 0;
    this.lasso = null;
    this.canvas = element("canvas", {
      tabindex: 0,
      role: "img",
      onpointermove: (event) => this.#move(event),
      onpointerdown: (event) => this.#down(event),
      onpointerup: (event) => this.#up(event),
      onpointercancel: () => this.#cancel(),
      onpointerleave: () => this.#hover(null),
      onkeydown: (event) => this.#key(event),
      onblur: () => this.#hover(null),
    });
    this.label = element("div", { class: "tooltip", hidden: true });
    this.note = element("p", { class: "plot-note", hidden: true });
    this.axes = element("p", { class: "plot-axes quiet" });
    this.element = element("div", { class: "scatter" }, this.canvas, this.label, this.note, this.axes);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** planes: where; styles: colours and shapes. */
  show(planes, styles, title) {
    this.planes = planes;
    this.styles = styles;
    this.canvas.setAttribute("aria-label", `${title}. Arrow keys go from point to point, Enter picks one.`);
    this.draw();
  }

  setLayer(layer, names) {
    this.layer = layer;
    const nearest = Math.round(layer);
    const { variance } = this.planes.layers[nearest];
    const shares = variance.map((share) => `${(100 * share).toFixed(0)} %`);
    const isOnePoint = variance[0] === 0;
    this.axes.textContent = isOnePoint
      ? `${names[nearest]}: no variance`
      : `${names[nearest]}: the axes hold ${shares[0]} and ${shares[1]} of the variance`;
    this.note.textContent = "Here all uses have the same vector: this layer sees the word alone.";
    this.note.hidden = !isOnePoint;
    this.draw();
  }

  setPicked(picked) {
    this.picked = picked;
    this.draw();
  }

  /** From outside: the mouse is over the same use elsewhere. */
  highlight(use) {
    this.hovered = use;
    this.#label();
    this.draw();
  }

  draw() {
    if (!this.planes || !this.element.isConnected) return;
    const { width, height } = this.canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const look = getComputedStyle(this.element);
    this.placed = this.planes.place(this.layer, width, height);
    for (const label of this.#groupLabels(width)) drawLabel(context, label, look);
    for (const use of this.#order()) drawUse(context, this.#mark(use), look);
    if (this.lasso && this.lasso.length > 1) drawLasso(context, this.lasso, look);
    if (this.hovered !== null) this.#label();
  }

  /** The plot as SVG, with its title and legend. */
  picture(title, names) {
    const { width, height } = this.canvas.getBoundingClientRect();
    const look = getComputedStyle(this.element);
    const ink = look.getPropertyValue("--ink").trim();
    const [head, foot] = [54, 30 + 20 * Math.ceil(this.styles.entries.length / 3)];
    const svg = svgElement("svg", {
      width: Math.round(width), height: Math.round(height + head + foot),
      "font-family": "system-ui, sans-serif", "font-size": 13, fill: ink,
    });
    svg.append(svgElement("rect", { width: "100%", height: "100%", fill: look.getPropertyValue("--paper").trim() }));
    svg.append(svgElement("text", { x: 16, y: 24, "font-size": 15, "font-weight": 600 }, title));
    svg.append(svgElement("text", { x: 16, y: 44, opacity: 0.7 }, this.axes.textContent));
    const field = svgElement("g", { transform: `translate(0,${head})` });
    for (const { text, x, y } of this.#groupLabels(width)) {
      field.append(svgElement("text", { x, y, "text-anchor": "middle", "font-weight": 600 }, text));
    }
    for (const use of this.#order()) {
      const mark = this.#mark(use);
      field.append(svgElement("path", {
        d: shapePath(mark.shape, mark.radius), transform: `translate(${mark.x.toFixed(1)},${mark.y.toFixed(1)})`,
        fill: mark.colour, "fill-opacity": mark.opacity, stroke: mark.isStrong ? ink : mark.colour,
        "stroke-width": mark.isStrong ? 1.5 : 0.6, "fill-rule": "evenodd",
      }));
    }
    svg.append(field);
    this.styles.entries.forEach((entry, number) => {
      const x = 22 + (number % 3) * (width / 3);
      const y = head + height + 20 + 20 * Math.floor(number / 3);
      svg.append(svgElement("path", { d: shapePath(entry.shape, 6), transform: `translate(${x},${y - 5})`, fill: entry.colour, "fill-rule": "evenodd" }));
      svg.append(svgElement("text", { x: x + 12, y }, `${entry.name} (${entry.count})`));
    });
    return svg;
  }

  /** Those without a label are drawn first, those that matter now last. */
  #order() {
    const rank = (use) =>
      (use === this.hovered ? 4 : 0) + (this.picked.has(use) ? 2 : 0) + (this.styles.ofUse[use] >= 0 ? 1 : 0);
    return [...this.placed.keys()].sort((one, other) => rank(one) - rank(other) || one - other);
  }

  #mark(use) {
    const style = styleOf(this.styles, use);
    const [x, y] = this.placed[use];
    const isPicked = this.picked.has(use);
    const isHovered = use === this.hovered;
    const base = this.placed.length > 300 ? 4 : 6;
    return {
      x, y, shape: style.shape, colour: style.colour, isStrong: isPicked || isHovered,
      radius: isHovered ? base + 3 : base,
      opacity: this.picked.size && !isPicked && !isHovered ? 0.22 : 0.88,
    };
  }

  /** The name of each group above its points, unless they all lie on top of each other. */
  #groupLabels(width) {
    const named = this.styles.entries.filter((entry) => entry.count > 0);
    if (named.length < 2 || this.planes.layers[Math.round(this.layer)].variance[0] === 0) return [];
    return this.styles.entries.slice(0, MOST_NAMES).flatMap((entry, number) => {
      const group = this.placed.filter((_, use) => this.styles.ofUse[use] === number);
      if (group.length < 3) return [];
      const middle = (axis) => group.map((point) => point[axis]).sort((a, b) => a - b)[Math.floor(group.length / 2)];
      const text = entry.name.length > 28 ? `${entry.name.slice(0, 27)}…` : entry.name;
      const half = 4 * text.length;
      return [{ text, half, x: Math.max(half, Math.min(width - half, middle(0))), y: Math.max(14, middle(1) - 16) }];
    }).filter((label, number, labels) => // the larger group keeps its name where two would overlap
      !labels.slice(0, number).some((one) => Math.abs(one.x - label.x) < one.half + label.half && Math.abs(one.y - label.y) < 18));
  }

  #at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #nearest([x, y]) {
    let best = null;
    let distance = NEAR;
    this.placed?.forEach(([px, py], use) => {
      const here = Math.hypot(px - x, py - y);
      if (here < distance) [best, distance] = [use, here];
    });
    return best;
  }

  #move(event) {
    const at = this.#at(event);
    if (this.lasso) {
      this.lasso.push(at);
      this.draw();
    } else this.#hover(this.#nearest(at));
  }

  #down(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.lasso = [this.#at(event)];
  }

  #up(event) {
    if (!this.lasso) return;
    const lasso = this.lasso;
    this.lasso = null;
    const isClick = lasso.every(([x, y]) => Math.hypot(x - lasso[0][0], y - lasso[0][1]) < 5);
    const keeps = event.shiftKey || event.ctrlKey || event.metaKey;
    if (isClick) this.#click(this.#nearest(lasso[0]), keeps);
    else {
      const inside = [...this.placed.keys()].filter((use) => isInside(this.placed[use], lasso));
      this.on.pick(new Set(keeps ? [...this.picked, ...inside] : inside));
    }
    this.draw();
  }

  #click(use, keeps) {
    if (use === null) this.on.pick(new Set());
    else this.on.pick(toggled(this.picked, use, keeps || this.picked.has(use)));
  }

  #cancel() {
    this.lasso = null;
    this.draw();
  }

  #key(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      const order = [...this.placed.keys()].sort((a, b) => this.placed[a][0] - this.placed[b][0]);
      const here = this.hovered === null ? (step > 0 ? -1 : 0) : order.indexOf(this.hovered);
      this.#hover(order[(here + step + order.length) % order.length]);
    } else if (event.key === "Enter" || event.key === " ") {
      if (this.hovered !== null) this.on.pick(toggled(this.picked, this.hovered, true));
    } else if (event.key === "Escape") this.on.pick(new Set());
    else return;
    event.preventDefault();
  }

  #hover(use) {
    if (use === this.hovered) return;
    this.highlight(use);
    this.on.hover(use);
  }

  #label() {
    this.label.hidden = this.hovered === null || !this.placed;
    if (this.label.hidden) return;
    const [x, y] = this.placed[this.hovered];
    const width = this.canvas.clientWidth;
    this.label.replaceChildren(...this.describe(this.hovered));
    const wide = Math.min(340, width - 20);
    this.label.style.maxWidth = `${wide}px`;
    this.label.style.left = `${Math.max(8, Math.min(x - wide / 2, width - wide - 8))}px`;
    const isLow = y > this.canvas.clientHeight / 2;
    this.label.style.top = isLow ? "" : `${y + 16}px`;
    this.label.style.bottom = isLow ? `${this.element.clientHeight - y + 16}px` : "";
  }
}

function toggled(picked, use, keeps) {
  const next = new Set(keeps ? picked : []);
  if (picked.has(use)) next.delete(use);
  else next.add(use);
  return next;
}

function drawUse(context, mark, look) {
  context.save();
  context.translate(mark.x, mark.y);
  const path = new Path2D(shapePath(mark.shape, mark.radius));
  context.globalAlpha = mark.opacity;
  context.fillStyle = mark.colour;
  context.fill(path, "evenodd");
  context.lineWidth = mark.isStrong ? 1.8 : 0.8;
  context.strokeStyle = look.getPropertyValue(mark.isStrong ? "--ink" : "--paper");
  context.stroke(path);
  context.restore();
}

function drawLabel(context, { text, x, y }, look) {
  context.font = "600 13px system-ui, sans-serif";
  context.textAlign = "center";
  context.fillStyle = look.getPropertyValue("--ink");
  context.fillText(text, x, y);
}

function drawLasso(context, lasso, look) {
  context.beginPath();
  lasso.forEach(([x, y], number) => (number ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.globalAlpha = 0.1;
  context.fillStyle = look.getPropertyValue("--accent");
  context.fill();
  context.globalAlpha = 1;
  context.setLineDash([5, 4]);
  context.strokeStyle = look.getPropertyValue("--accent");
  context.stroke();
  context.setLineDash([]);
}
