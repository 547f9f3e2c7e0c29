import { createHash } from 'node:crypto';
import { BoundedMap } from '../../../platform/concurrency/bounded-map.ts';
import type { Pandoc, PandocJob, PandocResult } from '../pandoc/pandoc.ts';

const maxRememberedResults = 8;
const maxRememberedBytes = 4 * 1024 ** 2;

/**
 * A Pandoc that remembers what citeproc wrote. Whoever corrects a text builds it again with the same citations, which
 * take a third of the time of a short document. Only the very same citations, references and style get the same result,
 * so nobody learns from it what others cite. Nothing else of a document is remembered.
 */
export function rememberCitations(pandoc: Pandoc): Pandoc {
  const known = new BoundedMap<string, PandocResult>({
    mostEntries: maxRememberedResults,
    mostWeight: maxRememberedBytes,
    heaviest: maxRememberedBytes / 4,
    weigh: ({ output }) => output.byteLength,
  });

  return {
    ...pandoc,
    async convert(job, signal) {
      if (job.options['citeproc'] !== true) return pandoc.convert(job, signal);
      const key = digestJob(job);
      const result = known.use(key) ?? (await pandoc.convert(job, signal));
      known.set(key, result);
      return result;
    },
  };
}

const digestJob = ({ options, input, files }: PandocJob): string =>
  createHash('sha256')
    .update(JSON.stringify([options, input, files]))
    .digest('base64');
