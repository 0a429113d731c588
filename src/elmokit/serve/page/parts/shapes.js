// Small shapes around a point, as SVG path data; Canvas reads the same text.

const PATHS = {
  circle: (r) => `M${r},0A${r},${r} 0 1 1 ${-r},0A${r},${r} 0 1 1 ${r},0Z`,
  square: (r) => box(0.88 * r),
  triangle: (r) => polygon([[0, -1.2 * r], [1.1 * r, 0.8 * r], [-1.1 * r, 0.8 * r]]),
  diamond: (r) => polygon([[0, -1.25 * r], [1.25 * r, 0], [0, 1.25 * r], [-1.25 * r, 0]]),
  down: (r) => polygon([[0, 1.2 * r], [1.1 * r, -0.8 * r], [-1.1 * r, -0.8 * r]]),
  plus: (r) => polygon(cross(r)),
  cross: (r) => polygon(cross(r).map(([x, y]) => [0.7071 * (x - y), 0.7071 * (x + y)])),
  ring: (r) => PATHS.circle(r) + PATHS.circle(0.5 * r),
};

function box(r) {
  return polygon([[-r, -r], [r, -r], [r, r], [-r, r]]);
}

function cross(r) {
  const a = 1.15 * r;
  const b = 0.4 * r;
  return [[-b, -a], [b, -a], [b, -b], [a, -b], [a, b], [b, b], [b, a], [-b, a], [-b, b], [-a, b], [-a, -b], [-b, -b]];
}

function polygon(corners) {
  return `M${corners.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join("L")}Z`;
}

/** Path data of a shape of radius r around (0, 0). */
export function shapePath(shape, r) {
  return PATHS[shape](r);
}
