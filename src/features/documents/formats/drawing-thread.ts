import { readFile } from 'node:fs/promises';
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { answerCalls } from '../../../platform/workers/inside.ts';

export interface DrawingJob {
  readonly svg: Uint8Array;
  /** The requested width, unless the picture gets too large by that. */
  readonly width: number;
}

const maxDrawingPixels = 4_000_000;
const maxDrawingSide = 10_000;

await initWasm(await readFile(new URL(import.meta.resolve('@resvg/resvg-wasm/index_bg.wasm'))));

const drawingMethods = {
  /** The picture as PNG. A thread in which this failed must not be used again: its state is undefined. */
  async draw({ svg, width }: DrawingJob): Promise<Uint8Array> {
    return new Resvg(svg, { fitTo: { mode: 'width', value: fitDrawingWidth(svg, width) } }).render().asPng();
  },
};

function fitDrawingWidth(svg: Uint8Array, wanted: number): number {
  const { width, height } = new Resvg(svg);
  const shape = height / width;
  const most = Math.min(maxDrawingSide, maxDrawingSide / shape, Math.sqrt(maxDrawingPixels / shape));
  const fit = Math.floor(Math.min(wanted, most));
  if (fit >= 1 && fit * shape >= 1) return fit;
  throw new RangeError(`A picture of ${width} by ${height} cannot be drawn.`);
}

export type DrawingMethods = typeof drawingMethods;

answerCalls(drawingMethods);
