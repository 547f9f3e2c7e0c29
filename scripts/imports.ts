import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Which file imports which. Read from the text: a formatted import has one form, and no parser is needed. Imports of
 * types, re-exports and `import()` count like all others; a worker that is started by its URL does not.
 */
const specifiers = /(?:\bfrom|\bimport|\bimport\()\s*'([^']+)'/g;

export const isTestFile = (file: string): boolean => /\.(?:test|testing|contract)\.ts$/.test(file);

/** The source files of the product, below the checkout, sorted. */
export function listProductFiles(): string[] {
  return globSync('{src,packages}/**/*.ts', { exclude: ['packages/*/{dist,node_modules}/**'] })
    .filter((file) => !isTestFile(file))
    .toSorted();
}

export interface Imports {
  /** Files of the checkout. */
  readonly files: readonly string[];
  /** Packages and modules of Node. */
  readonly packages: readonly string[];
}

export function readImports(file: string): Imports {
  return parseImports(file, readFileSync(file, 'utf8'));
}

export function parseImports(file: string, text: string): Imports {
  const all = [...text.matchAll(specifiers)].map(([, specifier]) => specifier!);
  const own = all.filter((specifier) => /^\.\.?\//.test(specifier) && specifier.endsWith('.ts'));
  return {
    files: own.map((specifier) => join(dirname(file), specifier)),
    packages: all.filter((specifier) => !specifier.startsWith('.')),
  };
}

/** Groups of nodes that reach each other, by Tarjan's algorithm. A node alone is no cycle. */
export function findCycles(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];

  function visit(node: string): void {
    order.set(node, order.size);
    lowest.set(node, order.get(node)!);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) visit(next);
      if (stack.includes(next)) lowest.set(node, Math.min(lowest.get(node)!, lowest.get(next)!));
    }
    if (lowest.get(node) !== order.get(node)) return;
    const group = stack.splice(stack.indexOf(node));
    if (group.length > 1) cycles.push(group.toSorted());
  }

  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return cycles;
}
