import { extname } from 'node:path';
import { createLog } from '../../../platform/observability/log.ts';
import { createThread, type Thread } from '../../../platform/workers/workers.ts';
import type { DrawingJob, DrawingMethods } from './drawing-thread.ts';

/** Why there is no PNG of an SVG. */
export type UndrawnReason = 'has text' | 'failed' | 'not installed';

export type DrawnSvg = Uint8Array | UndrawnReason;

/** Draws SVG as PNG; it is an optional dependency. */
export const drawingPackage = '@resvg/resvg-wasm';

const drawingThreadFile = new URL(`./drawing-thread${extname(import.meta.filename)}`, import.meta.url);

export interface DrawingLimits {
  readonly eachMs: number;
  /** For all pictures of a document. */
  readonly allMs: number;
  /** By how much the process may grow: a small SVG can have thousands of layers. */
  readonly memoryBytes: number;
}

const defaultDrawingLimits: DrawingLimits = { eachMs: 5000, allMs: 10_000, memoryBytes: 400 * 1024 * 1024 };

/**
 * Draws each SVG as PNG, in a thread that ends after the last one. An SVG that cannot be drawn in time does not make the
 * document fail: the document then has the SVG alone.
 */
export async function drawSvgs(
  jobs: readonly DrawingJob[],
  signal: AbortSignal,
  limits: DrawingLimits = defaultDrawingLimits,
  isInstalled = hasDrawingPackage(),
): Promise<DrawnSvg[]> {
  await using thread = createThread<DrawingMethods>(drawingThreadFile, null, createLog('off'));
  const end = performance.now() + limits.allMs;
  const drawn: DrawnSvg[] = [];
  for (const job of jobs) {
    signal.throwIfAborted();
    const ms = Math.min(limits.eachMs, end - performance.now());
    const obstacle = job.width === 0 ? 'failed' : findDrawingObstacle(job.svg);
    if (obstacle !== null) drawn.push(obstacle);
    else if (!isInstalled) drawn.push('not installed');
    else drawn.push(ms > 0 ? await drawSvg(thread, job, { ...limits, eachMs: ms }, signal) : 'failed');
  }
  return drawn;
}

const drawingWatchMs = 50;

async function drawSvg(
  thread: Thread<DrawingMethods>,
  job: DrawingJob,
  { eachMs, memoryBytes }: DrawingLimits,
  signal: AbortSignal,
): Promise<DrawnSvg> {
  const [end, most] = [performance.now() + eachMs, process.memoryUsage.rss() + memoryBytes];
  const watch = setInterval(() => {
    if (signal.aborted || performance.now() > end || process.memoryUsage.rss() > most)
      thread.kill(drawingLimitError);
  }, drawingWatchMs);
  try {
    return await thread.call('draw', job);
  } catch (error) {
    signal.throwIfAborted();
    thread.kill(error);
    return 'failed';
  } finally {
    clearInterval(watch);
  }
}

const drawingLimitError = new Error('Drawing the picture takes too long, or too much memory.');

/** Text cannot be drawn: there are no fonts. */
const svgTextElement = /<(?:[^\s<>/:]+:)?(?:text|tspan|textpath|tref|altglyph)[\s/>]/i;
const webpDataUri = /data:image\/webp/i;

/** What the PNG would silently lack. */
function findDrawingObstacle(svg: Uint8Array): UndrawnReason | null {
  const text = Buffer.from(svg).toString('utf8');
  if (svgTextElement.test(text)) return 'has text';
  return webpDataUri.test(text) ? 'failed' : null;
}

function hasDrawingPackage(): boolean {
  try {
    return import.meta.resolve(drawingPackage) !== '';
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    return false;
  }
}
