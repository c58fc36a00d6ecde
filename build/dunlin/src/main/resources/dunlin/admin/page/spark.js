// Lines of the last minutes, as SVG. Their last values are beside them as text, for those who do not see them.

import {make, put} from "./dom.js";
import {number} from "./text.js";

const POINTS = 300;
const WIDTH = 300;
const HEIGHT = 60;
const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

// The lines have a title each; add() takes one value for each of them.
export function spark(caption, titles) {
  const values = titles.map(() => []);
  const lines = titles.map((_, i) => svg("polyline", {class: "line-" + i}));
  const drawing = svg("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true"});
  drawing.append(...lines);
  const shown = titles.map((_, i) => make("span", {class: "line-" + i}));
  const most = make("span");
  const texts = titles.flatMap((title, i) => [i ? ", " : ": ", title + " ", shown[i]]);
  const element = make("figure", {}, make("figcaption", {}, caption, ...texts, "; at most ", most), drawing);

  function add(...newest) {
    newest.forEach((value, i) => {
      values[i].push(value);
      if (values[i].length > POINTS) values[i].shift();
      put(shown[i], number(value));
    });
    const top = Math.max(1, ...values.flat());
    put(most, number(Math.max(0, ...values.flat())));
    lines.forEach((line, i) => {
      const from = POINTS - values[i].length;
      line.setAttribute("points", values[i].map((value, at) => (from + at) * WIDTH / (POINTS - 1) + "," + (HEIGHT - 2 - value / top * (HEIGHT - 4))).join(" "));
    });
  }

  return {element, add};
}
