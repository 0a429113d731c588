// Points between two layers, and where they stand on a screen.

const APART = 5;
const GOLDEN_ANGLE = 2.399963;

/** Uses of a word in the planes of all layers: what a scatter plot draws. */
export class Planes {
  constructor(layers) {
    this.layers = layers;
    this.spread = layers.map((layer) => spreadSame(layer.points));
    this.boxes = layers.map((layer) => boundingBox(layer.points));
  }

  get length() {
    return this.layers[0].points.length;
  }

  /** [x, y] of every use in a field of so many pixels, at a layer that may lie between two. */
  place(layer, width, height, margin = 26) {
    const low = Math.max(0, Math.min(this.layers.length - 1, Math.floor(layer)));
    const high = Math.min(low + 1, this.layers.length - 1);
    const share = Math.max(0, Math.min(1, layer - low));
    const { left, top, wide, tall } = between(this.boxes[low], this.boxes[high], share);
    const scale = Math.min((width - 2 * margin) / wide, (height - 2 * margin) / tall);
    const startX = (width - scale * wide) / 2;
    const startY = (height - scale * tall) / 2;
    return this.layers[low].points.map((from, use) => {
      const to = this.layers[high].points[use];
      const at = (axis) => from[axis] + share * (to[axis] - from[axis]);
      const off = (axis) =>
        this.spread[low][use][axis] + share * (this.spread[high][use][axis] - this.spread[low][use][axis]);
      return [startX + scale * (at(0) - left) + off(0), startY + scale * (top - at(1)) + off(1)];
    });
  }
}

/** Two plots of one plane must have one scale. */
export function shareBoxes(one, other) {
  const boxes = one.layers.map((layer, number) => boundingBox([...layer.points, ...other.layers[number].points]));
  one.boxes = boxes;
  other.boxes = boxes;
}

function boundingBox(points) {
  const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [bottom, top] = [Math.min(...ys), Math.max(...ys)];
  // All uses in one point: in the middle of a field as large as that of other layers.
  const grow = (size) => Math.max(size, 0.5);
  const [wide, tall] = [grow(right - left), grow(top - bottom)];
  return { left: (left + right - wide) / 2, top: (top + bottom + tall) / 2, wide, tall };
}

/** The field of view moves with the points. */
function between(low, high, share) {
  const at = (name) => low[name] + share * (high[name] - low[name]);
  return { left: at("left"), top: at("top"), wide: at("wide"), tall: at("tall") };
}

/** Pixels by which uses of the same vector are moved apart, like the seeds of a sunflower. */
function spreadSame(points) {
  const seen = new Map();
  return points.map(([x, y]) => {
    const key = `${x.toFixed(3)} ${y.toFixed(3)}`;
    const number = seen.get(key) ?? 0;
    seen.set(key, number + 1);
    const radius = APART * Math.sqrt(number);
    return [radius * Math.cos(number * GOLDEN_ANGLE), radius * Math.sin(number * GOLDEN_ANGLE)];
  });
}

/** Is a point inside a polygon? */
export function isInside([x, y], polygon) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i, i += 1) {
    const [xi, yi] = polygon[i];
    const [xj, yj] = polygon[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}
