/**
 * Runs along the time as a picture: when each began, how long it took and how it ended. It says nothing that the list
 * beside it does not say, so it is hidden from those who hear the page.
 */
import { html, type Html } from '../../platform/html/html.ts';
import { renderShortTime } from './frame.ts';
import { describeState } from '../../core/runs/describe-run.ts';
import type { ListedRun } from '../../core/runs/schema.ts';

const width = 1000;
const laneHeight = 12;
const barHeight = 9;
const mostLanes = 6;
/** What takes milliseconds among what takes hours is seen all the same. */
const leastBarWidth = 5;
const gap = 2;

interface Bar {
  readonly run: ListedRun;
  readonly x: number;
  readonly width: number;
  readonly lane: number;
}

/** Nothing for fewer than two: there is no time between them. */
export function renderTimeline(runs: readonly ListedRun[], now: number): Html {
  if (runs.length < 2) return html`<div data-fresh="timeline"></div>`;
  const starts = runs.map(({ started_at }) => Date.parse(started_at));
  const ends = runs.map((run, at) => starts[at]! + (run.duration_ms ?? Math.max(0, now - starts[at]!)));
  const [first, last] = [Math.min(...starts), Math.max(...ends)];
  const bars = placeBars(runs, { starts, ends, first, scale: width / Math.max(1, last - first) });
  const lanes = Math.max(...bars.map(({ lane }) => lane)) + 1;
  return html`<figure class="timeline" data-fresh="timeline" aria-hidden="true">
    <svg
      viewBox="0 0 ${width} ${lanes * laneHeight}"
      height="${lanes * laneHeight}"
      preserveAspectRatio="none"
    >
      ${bars.map(renderBar)}
    </svg>
    <figcaption>
      <span>${renderShortTime(new Date(first).toISOString())}</span>
      <span>${renderShortTime(new Date(last).toISOString())} UTC</span>
    </figcaption>
  </figure>`;
}

/** Oldest first, each in the first lane that is free by then; where all are taken, over the one that is free soonest. */
function placeBars(
  runs: readonly ListedRun[],
  {
    starts,
    ends,
    first,
    scale,
  }: { starts: readonly number[]; ends: readonly number[]; first: number; scale: number },
): Bar[] {
  const freeFrom: number[] = [];
  return runs
    .map((run, at) => {
      const barWidth = Math.min(width, Math.max(leastBarWidth, (ends[at]! - starts[at]!) * scale));
      return { run, x: Math.min((starts[at]! - first) * scale, width - barWidth), width: barWidth };
    })
    .toReversed()
    .map((bar) => {
      const free = freeFrom.findIndex((from) => from <= bar.x);
      const isFull = free === -1 && freeFrom.length === mostLanes;
      const lane = isFull ? freeFrom.indexOf(Math.min(...freeFrom)) : free === -1 ? freeFrom.length : free;
      freeFrom[lane] = bar.x + bar.width + gap;
      return { ...bar, lane };
    });
}

const round = (value: number): number => Math.round(value * 10) / 10;

const renderBar = ({ run, x, width: barWidth, lane }: Bar): Html =>
  html`<a href="/runs/${run.execution_id}" tabindex="-1"
    ><rect
      class="span ${describeState(run.end_reason, run.exit_code).kind}"
      x="${round(x)}"
      y="${lane * laneHeight}"
      width="${round(barWidth)}"
      height="${barHeight}"
      rx="2"
    ></rect
  ></a>`;
