/**
 * A graph of actions as SVG, made by the server: what each used on the left, what it made on the right. Names in it are
 * text of others, and are escaped and cut; the same facts are below it as a list, for those who do not see it.
 */
import { html, nothing, type Html } from '../../platform/html/html.ts';
import { layOutGraph, maxNodes, type GraphAction, type DrawnNode, type GraphThing } from './graph-layout.ts';

/** What is shown of a crate or a run; `total` counts actions that are not given here too. */
export interface ShownGraph {
  readonly title: string;
  readonly actions: readonly GraphAction[];
  readonly total: number;
}

export function renderGraph({ title, actions, total }: ShownGraph): Html {
  const { nodes, edges, width, height, shownActions } = layOutGraph(actions);
  const left = total - shownActions;
  return html`<figure class="graph">
    <div class="scroll" tabindex="0" role="region" aria-label="${title}">
      <svg
        width="${width}"
        height="${height}"
        viewBox="0 0 ${width} ${height}"
        role="group"
        aria-labelledby="graph-title graph-description"
      >
        <title id="graph-title">${title}</title>
        <desc id="graph-description">
          ${countOf(shownActions, 'action')} with what was used on the left and what was made on the right.
          The same is below as a list.
        </desc>
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path class="arrow" d="M0 0 8 4 0 8z"></path>
          </marker>
        </defs>
        <g aria-hidden="true">${edges.map(renderEdge)}</g>
        ${nodes.map(renderNode)}
      </svg>
    </div>
    ${
      left > 0 || nodes.length >= maxNodes
        ? html`<figcaption>
            ${left > 0 ? `And ${left} more ${left === 1 ? 'action' : 'actions'}, which are not drawn.` : 'Not everything is drawn.'}
          </figcaption>`
        : nothing
    }
    <details>
      <summary>As a list</summary>
      <ul>
        ${actions.slice(0, shownActions).map(renderActionInWords)}
      </ul>
    </details>
  </figure>`;
}

const countOf = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

function renderEdge({ from, to, isBack }: ReturnType<typeof layOutGraph>['edges'][number]): Html {
  const [x1, y1] = [from.x + from.width, from.y + from.height / 2];
  const [x2, y2] = [to.x, to.y + to.height / 2];
  const bend = isBack ? 60 : Math.max(24, (x2 - x1) / 2);
  const path = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  return html`<path class="edge${isBack ? ' back' : ''}" d="${path}" marker-end="url(#arrow)"></path>`;
}

/** An SVG of its own: what is in it cannot reach beyond it. */
function renderNode(node: DrawnNode): Html {
  const { x, y, width, height, kind } = node;
  return html`<svg x="${x}" y="${y}" width="${width}" height="${height}">
    <g class="node ${kind}${kind === 'action' && node.action.failed ? ' broken' : ''}">
      <rect x="1" y="1" width="${width - 2}" height="${height - 2}" rx="9"></rect>
      ${renderContent(node)}
    </g>
  </svg>`;
}

/** How many letters fit; those of a name are bold. */
const [thingUnits, nameUnits, actionUnits] = [20, 22, 27];

function renderContent(node: DrawnNode): Html {
  if (node.kind === 'more') return renderLine(`and ${node.count} more`, 25, thingUnits);
  if (node.kind === 'thing') return renderThing(node.thing, 25, thingUnits);
  const { name, instruments, facts, failed } = node.action;
  const lines = [
    renderLine(failed ? `${name} (failed)` : name, 0, nameUnits, 'name'),
    ...instruments.map((thing) => renderThing(thing, 0, actionUnits)),
    ...facts.map((fact) => renderLine(fact, 0, actionUnits, 'fact')),
  ];
  return html`${lines.map((line, at) => html`<g transform="translate(0 ${26 + at * 20})">${line}</g>`)}`;
}

const renderThing = ({ name, href }: GraphThing, y: number, units: number): Html =>
  href === null ? renderLine(name, y, units) : html`<a href="${href}">${renderLine(name, y, units)}</a>`;

/** The whole text is the title of the line, which a browser shows where it is pointed at. */
function renderLine(text: string, y: number, units: number, kind = ''): Html {
  const line = text.replaceAll(/\s+/gu, ' ').trim();
  const cut = cutLine(line, units);
  return html`<text x="12" y="${y}" class="${kind}"
    >${cut === line ? nothing : html`<title>${line}</title>`}${cut}</text
  >`;
}

/** Letters of East Asia take two units. */
function cutLine(text: string, units: number): string {
  let left = units;
  let cut = '';
  for (const letter of text) {
    left -= letter.codePointAt(0)! >= 0x11_00 ? 2 : 1;
    if (left < 0) return `${cut.trimEnd()}…`;
    cut += letter;
  }
  return cut;
}

function renderActionInWords({
  name,
  facts,
  failed,
  instruments,
  objects,
  objectCount,
  results,
  resultCount,
}: GraphAction): Html {
  const sides = [
    ['with', instruments, instruments.length],
    ['used', objects, objectCount],
    ['made', results, resultCount],
  ] as const;
  return html`<li>
    <strong>${name}</strong>${failed ? ' (failed)' : ''}${facts.map((fact) => `, ${fact}`)}
    <ul>
      ${sides.map(([word, things, count]) => (count === 0 ? nothing : html`<li>${word} ${renderNames(things, count)}</li>`))}
    </ul>
  </li>`;
}

const maxNames = 20;

function renderNames(things: readonly GraphThing[], count: number): Html {
  const shown = things.slice(0, maxNames);
  const more = count - shown.length;
  return html`${shown.map(
    ({ name, href }, at) =>
      html`${at === 0 ? '' : ', '}${href === null ? name : html`<a href="${href}">${name}</a>`}`,
  )}${more > 0 ? ` and ${more} more` : ''}`;
}
