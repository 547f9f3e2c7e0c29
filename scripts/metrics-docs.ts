/**
 * Makes docs/reference/metrics.md from the metrics that src/ defines, with the help that /metrics has too. It reads the text
 * of the code: many metrics are made only when there is something to watch.
 *
 *   node scripts/metrics-docs.ts
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatTable } from './markdown-table.ts';

const root = join(import.meta.dirname, '..');

const head = `# Metrics

What \`GET /metrics\` answers, as Prometheus text: how to collect it, and what to watch, is in [observe.md](../guide/observe.md#metrics). The process itself has \`workcrate_process_*\` and \`workcrate_nodejs_*\`: start, CPU, memory, descriptors, event loop, garbage collection. No label contains anything that a client sends. \`node scripts/metrics-docs.ts\` makes this page from the metrics themselves.`;

export function metricsPage(): string {
  const rows = readMetrics().map(({ name, labels, kind, help }) => [
    `\`${name}${labels.length > 0 ? `{${labels.join(',')}}` : ''}\``,
    kind,
    help,
  ]);
  return `${head}\n\n${formatTable(['metric', 'kind', 'meaning'], rows)}\n`;
}

interface Metric {
  readonly name: string;
  readonly kind: string;
  readonly labels: readonly string[];
  readonly help: string;
}

function readMetrics(): Metric[] {
  const files = globSync('{src,packages}/**/*.ts', { cwd: root }).filter(
    (file) => !/\.(?:test|testing)\.ts$/.test(file),
  );
  const text = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
  const metrics = [...text.matchAll(constructed), ...text.matchAll(watched)].map(({ groups }) => ({
    name: groups!['name']!,
    kind: groups!['kind']?.toLowerCase() ?? 'gauge',
    labels: [...(groups!['labels'] ?? '').matchAll(/'(\w+)'/g)].map(([, label]) => label!),
    help: groups!['help']!,
  }));
  return metrics.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

const named = /'(?<name>workcrate_\w+)'/.source;
const explained = /'(?<help>[^']*)'/.source;
/** `new Counter({ name: '…', help: '…', labelNames: ['…'] })` */
const constructed = new RegExp(
  String.raw`new (?<kind>Counter|Gauge|Histogram)(?:<[^>]*>)?\(\{\s*name: ${named},\s*help:\s*${explained},(?:\s*labelNames: \[(?<labels>[^\]]*)\])?`,
  'g',
);
/** `watch('…', '…', …)`, which makes a gauge. */
const watched = new RegExp(String.raw`watch\(\s*${named},\s*${explained}`, 'g');

if (import.meta.main) writeFileSync(join(root, 'docs/reference/metrics.md'), metricsPage());
