/**
 * A plot over time, drawn by the server: lines in SVG that stretch with the page, and axes in HTML, so that their text
 * keeps its size on a phone. The label says in words what is to be seen.
 */
import { html, nothing, raw, type Html } from '../../platform/html/html.ts';

export interface PlotLine {
  readonly name: string;
  /** At equal distances in time; null where nothing is known. */
  readonly values: readonly (number | null)[];
}

export interface Plot {
  readonly title: string;
  readonly from: number;
  readonly to: number;
  /** One or two: they are told apart by colour and by dashes. */
  readonly lines: readonly PlotLine[];
  readonly format: (value: number) => string;
  /** What the scale ends at; a round value above all lines by default. */
  readonly most?: number;
  /** In which the scale is round; 1024 for bytes. */
  readonly base?: 1000 | 1024;
}

const [width, height] = [300, 100];

export function renderPlot(plot: Plot): Html {
  const most = plot.most ?? findScale(plot);
  const { title, lines, format, from, to } = plot;
  const [day, hour] = [to - from > 86_400_000, (at: number) => new Date(at).toISOString().slice(11, 16)];
  return html`<figure class="plot">
    <figcaption>
      <strong>${title}</strong>
      ${lines.map(
        ({ name, values }, at) =>
          html`<span class="key key${at}">${name} <b>${formatNow(values, format)}</b></span>`,
      )}
    </figcaption>
    <div class="canvas">
      <div class="scale" aria-hidden="true">
        <span>${format(most)}</span><span>${format(most / 2)}</span><span>${format(0)}</span>
      </div>
      <svg
        viewBox="0 0 ${width} ${height}"
        preserveAspectRatio="none"
        role="img"
        aria-label="${describePlot(plot)}"
      >
        ${raw(`<path class="grid" d="M0 0H${width}M0 ${height / 2}H${width}M0 ${height}H${width}"/>`)}
        ${lines.map(({ values }, at) => renderLine(values, most, at))}
      </svg>
    </div>
    <div class="times" aria-hidden="true">
      <span>${day ? new Date(from).toISOString().slice(5, 10) : nothing} ${hour(from)}</span>
      <span>${hour((from + to) / 2)}</span><span>${hour(to)} UTC</span>
    </div>
  </figure>`;
}

/** Made of numbers alone. */
function renderLine(values: readonly (number | null)[], most: number, at: number): Html {
  const points = values.flatMap((value, place) => {
    if (value === null) return [];
    const x = values.length < 2 ? width : (place / (values.length - 1)) * width;
    return [[x, height - Math.min(1, value / most) * height] as const];
  });
  if (points.length === 0) return html``;
  const [[firstX, firstY], lastX] = [points[0]!, points.at(-1)![0]];
  // One point alone would be nothing to see.
  const seen = points.length > 1 ? points : [[Math.max(0, firstX - 3), firstY] as const, ...points];
  const line = `M${seen.map(([x, y]) => `${toPixel(x)} ${toPixel(y)}`).join('L')}`;
  const isFilled = at === 0 && points.length > 1;
  const floor = `L${toPixel(lastX)} ${height}L${toPixel(firstX)} ${height}Z`;
  const area = isFilled ? `<path class="area" d="${line}${floor}"/>` : '';
  return html`${raw(`${area}<path class="line line${at}" d="${line}"/>`)}`;
}

const toPixel = (value: number): string => String(Number(value.toFixed(1)));

/** A round value at or above the largest. */
function findScale({ lines, base = 1000 }: Plot): number {
  const largest = Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  if (largest <= 1) return 1;
  const unit = base === 1000 ? 1 : 1024 ** Math.floor(Math.log2(largest) / 10);
  const power = 10 ** Math.floor(Math.log10(largest / unit));
  const step = [1, 2, 5, 10].find((one) => one * power * unit >= largest)!;
  return step * power * unit;
}

const formatNow = (values: readonly (number | null)[], format: Plot['format']): string => {
  const now = values.findLast((value) => value !== null);
  return now === undefined || now === null ? 'unknown' : format(now);
};

function describePlot({ title, lines, format, from, to }: Plot): string {
  const minutes = Math.round((to - from) / 60_000);
  const length = minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
  const told = lines.map(({ name, values }) => {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) return `${name}: nothing known`;
    return `${name}: now ${format(known.at(-1)!)}, at most ${format(Math.max(...known))}`;
  });
  return `${title}, last ${length}. ${told.join('; ')}.`;
}
