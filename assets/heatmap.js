// Shows one map and its values: the pixel under the pointer is marked in all maps of its size on the page, each with
// its own value. A click sends the pixel to the server if it wants one. A title may stand above the map, and below it
// text, which is the server's own HTML.

const SVG = "http://www.w3.org/2000/svg";

export default function heatmap({ parentElement, data, setTriggerValue }) {
  const [heading, box, below] = [".al-title", ".al-map", ".al-below"].map(name => parentElement.querySelector(name));
  heading.textContent = heading.title = data.title;
  below.innerHTML = data.below;
  if (!box.firstChild) {
    box.append(document.createElement("img"), document.createElementNS(SVG, "svg"), document.createElement("output"));
  }
  const [picture, drawing, reading] = box.children;
  const { rows, columns, alt, choose, words } = data;
  box.style.aspectRatio = `${columns} / ${rows}`;
  box.classList.toggle("al-map-choose", Boolean(choose));
  picture.alt = alt;
  if (picture.getAttribute("src") !== data.picture) picture.src = data.picture;

  drawing.setAttribute("viewBox", `0 0 ${columns} ${rows}`);
  drawing.setAttribute("aria-hidden", "true");
  reading.setAttribute("aria-hidden", "true"); // the keyboard has the same numbers: Compare's "One pixel"
  const pointed = document.createElementNS(SVG, "rect");
  pointed.setAttribute("width", 1);
  pointed.setAttribute("height", 1);
  drawing.replaceChildren(...data.lines.map(line), pointed);

  const percents = Int8Array.from(atob(data.percents), c => c.charCodeAt(0));
  // Two properties for the other maps of the page: how to mark a pixel ([row, column] or null; under the pointer or
  // in another map), and which size of map this is.
  box.point = (at, underPointer) => {
    box.classList.toggle("al-map-read", at !== null);
    if (at === null) return;
    const [row, column] = at, percent = percents[row * columns + column];
    pointed.setAttribute("x", column);
    pointed.setAttribute("y", row);
    const value = words[percent] ?? `${percent > 0 ? "+" : ""}${percent} %`;
    reading.textContent = underPointer ? `row ${row}, column ${column}: ${value}` : value;
    reading.classList.toggle("al-map-low", row < rows / 2);
  };
  box.pixels = `${rows}x${columns}`;
  box.onpointermove = box.onpointerdown = event => everywhere(box, pixel(box, event, data));
  box.onpointerleave = () => everywhere(box, null);
  box.onclick = event => choose && setTriggerValue("pixel", pixel(box, event, data));
}

function line({ path, colour, width }) {
  const element = document.createElementNS(SVG, "path");
  for (const [name, value] of Object.entries({ d: path, stroke: colour, "stroke-width": width })) {
    element.setAttribute(name, value);
  }
  return element;
}

function pixel(box, event, { rows, columns }) {
  const edges = box.getBoundingClientRect();
  const cell = (at, low, size, count) => Math.min(count - 1, Math.max(0, Math.floor((at - low) / size * count)));
  return [cell(event.clientY, edges.top, edges.height, rows), cell(event.clientX, edges.left, edges.width, columns)];
}

function everywhere(box, at) {
  for (const other of document.querySelectorAll(".al-map")) {
    if (other.pixels === box.pixels) other.point(at, other === box);
  }
}
