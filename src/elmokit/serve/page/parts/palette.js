// Okabe and Ito's colours, which colour-blind readers can tell apart; each label has a shape, too.

export const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442"];
// On a dark ground the two blues change places: the darker one is hard to see there.
const COLOURS_ON_DARK = ["#56b4e9", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#3a8fd0", "#f0e442"];
export const SHAPES = ["circle", "square", "triangle", "diamond", "down", "plus", "cross"];
export const UNKNOWN = { colour: "#9a9a9a", shape: "circle" };
const OTHERS = { colour: "#6f6f6f", shape: "ring" };

// For what has an order (time): from dark blue to yellow, even in lightness (after cividis).
const ORDERED = ["#00224e", "#2f4570", "#575d6d", "#7d7c78", "#a59c74", "#cfbe63", "#fee838"];
const ORDERED_ON_DARK = ["#4f6fb0", "#6c84b0", "#8a97ac", "#a5a894", "#bfb67c", "#d9ca66", "#fee838"];

/** One {name, colour, shape, count} per label that is drawn, and the number of the one of each use. */
export function styleLabels(labels, numUses, isDark) {
  if (!labels) return { entries: [], ofUse: new Array(numUses).fill(-1) };
  const isOrdered = labels.kind === "date";
  const shown = Math.min(labels.names.length, COLOURS.length);
  const entries = labels.names.slice(0, shown).map((name, number) => ({
    name,
    colour: isOrdered ? orderedColour(number, shown, isDark) : (isDark ? COLOURS_ON_DARK : COLOURS)[number],
    shape: SHAPES[number],
    count: 0,
  }));
  if (labels.names.length > shown) {
    entries.push({ name: `${labels.names.length - shown} others`, ...OTHERS, count: 0 });
  }
  const ofUse = labels.of_use.map((number) => (number < 0 ? -1 : Math.min(number, entries.length - 1)));
  for (const number of ofUse) if (number >= 0) entries[number].count += 1;
  return { entries, ofUse };
}

function orderedColour(number, count, isDark) {
  const scale = isDark ? ORDERED_ON_DARK : ORDERED;
  return scale[count < 2 ? 0 : Math.round((number * (scale.length - 1)) / (count - 1))];
}

/** The style of a use: that of its label, or of none. */
export function styleOf(styles, use) {
  const number = styles.ofUse[use];
  return number >= 0 ? styles.entries[number] : UNKNOWN;
}

/** 0 to 1 -> a colour that is darker (on dark: lighter) the larger the value; for matrices. */
export function shade(value, isDark) {
  const low = isDark ? [28, 33, 41] : [247, 249, 252];
  const high = isDark ? [134, 197, 245] : [0, 74, 122];
  const share = Math.max(0, Math.min(1, value)) ** 1.3;
  const mixed = low.map((start, index) => Math.round(start + share * (high[index] - start)));
  return `rgb(${mixed.join(",")})`;
}

/** Black or white, whichever can be read on that shade. */
export function inkOn(value, isDark) {
  const isStrong = Math.max(0, value) ** 1.3 > 0.5;
  return isStrong !== isDark ? "#ffffff" : "#101418";
}
