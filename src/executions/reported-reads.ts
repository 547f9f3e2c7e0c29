/**
 * What Python reports of what it opened and imported. Code can write such reports too, so each is parsed within bounds,
 * and none is more than a claim.
 */
import { z } from 'zod';
import type { Report } from '../sandbox/sandbox.ts';

export interface ReportedReads {
  /** As code named them. */
  readonly paths: ReadonlySet<string>;
  /** False where Python could not tell all, null where it told nothing. */
  readonly isComplete: boolean | null;
  readonly libraries: Readonly<Record<string, string>>;
  take(report: Report): void;
}

const maxPaths = 1000;
const maxPathLength = 4096;
const maxLibraries = 200;
const maxLibraryLength = 100;

const openedShape = z.object({
  type: z.literal('opened'),
  paths: z.array(z.string()),
  complete: z.boolean(),
});
const librariesShape = z.object({
  type: z.literal('libraries'),
  versions: z.record(z.string(), z.string()),
});

export function createReportedReads(): ReportedReads {
  const paths = new Set<string>();
  const libraries = new Map<string, string>();
  let isComplete: boolean | null = null;

  function takeOpened({ paths: named, complete }: z.output<typeof openedShape>): void {
    const usable = named.filter((path) => path.length <= maxPathLength).slice(0, maxPaths - paths.size);
    for (const path of usable) paths.add(path);
    isComplete = complete && usable.length === named.length && isComplete !== false;
  }

  return {
    paths,
    get isComplete() {
      return isComplete;
    },
    get libraries() {
      return Object.fromEntries(libraries);
    },
    take({ header }) {
      const opened = openedShape.safeParse(header);
      if (opened.success) return takeOpened(opened.data);
      const found = librariesShape.safeParse(header);
      if (!found.success) return;
      for (const [name, version] of Object.entries(found.data.versions))
        if (libraries.size < maxLibraries && Math.max(name.length, version.length) <= maxLibraryLength)
          libraries.set(name.toWellFormed(), version.toWellFormed());
    },
  };
}
