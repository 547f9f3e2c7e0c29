import { readFileSync } from 'node:fs';

/** The layers of the tree, from the bottom to the top: the path of a file is its layer. */
export const layerNames = ['platform', 'ports', 'core', 'features', 'surfaces', 'server', 'cli'] as const;

export type LayerName = (typeof layerNames)[number];

/** The part of the tree that a product file belongs to, as `core/runs`, or the layer where it is in no room. */
export function findPart(file: string): string {
  if (file.startsWith('packages/')) return file.split('/').slice(0, 2).join('/');
  const [, layer, ...below] = file.split('/');
  return below.length > 1 && layer !== 'server' && layer !== 'cli' ? `${layer}/${below[0]}` : layer!;
}

/** Lines and files of each part. */
export interface PartSize {
  readonly lines: number;
  readonly files: number;
}

export function measureParts(files: readonly string[]): Map<string, PartSize> {
  const sizes = new Map<string, PartSize>();
  for (const file of files) {
    const part = findPart(file);
    const { lines, files: count } = sizes.get(part) ?? { lines: 0, files: 0 };
    sizes.set(part, { lines: lines + countLines(file), files: count + 1 });
  }
  return sizes;
}

export const countLines = (file: string): number => readFileSync(file, 'utf8').split('\n').length - 1;
