/** What a run shows beside its output, such as figures: how its files are called in a crate, and their hashes. */
import { createHash } from 'node:crypto';
import { getExtension, maxResults, parseResult, type Execution } from '../../core/runs/executions.ts';
import type { Report } from '../../ports/sandbox/sandbox.ts';
import { shownFolder } from './packed.ts';

type ReplayedResult = Pick<Execution['results'][number], 'kind'> & {
  readonly parts: readonly { readonly mime: string }[];
};

/** Each file of each result, called after its kind and number, such as `figure-1.png`. */
export function listShownParts<Result extends ReplayedResult>(
  results: readonly Result[],
): (Result['parts'][number] & { readonly name: string; readonly kind: string })[] {
  const counts = new Map<string, number>();
  return results.flatMap(({ kind, parts }) => {
    const number = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, number);
    return parts.map((part) => ({ ...part, kind, name: `${kind}-${number}.${getExtension(part.mime)}` }));
  });
}

/** The sha256 of what a run shows, by the names that a crate has for it. */
export async function hashShownResults(reports: AsyncIterable<Report>): Promise<Map<string, string>> {
  const results: { kind: Execution['results'][number]['kind']; parts: { mime: string; sha256: string }[] }[] =
    [];
  for await (const report of reports) {
    const shown = results.length < maxResults ? parseResult(report) : null;
    if (shown === null) continue;
    const parts = shown.parts.map(({ mime, bytes }) => {
      return { mime, sha256: createHash('sha256').update(bytes).digest('hex') };
    });
    results.push({ kind: shown.kind, parts });
  }
  return new Map(listShownParts(results).map(({ name, sha256 }) => [`${shownFolder}${name}`, sha256]));
}
