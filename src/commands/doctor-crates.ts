import type { Config } from '../config.ts';
import { openSource } from '../crates/sources/sources.ts';
import { isWorkcrateError } from '../errors.ts';
import { sourceOptions } from '../stores.ts';
import type { Finding } from './doctor.ts';

/** Whether the sources of crates answer. Each by itself: one that does not keeps nobody from the others. */
export async function crateFindings(config: Config): Promise<Finding[]> {
  const urls = [...config.crateSources, ...(config.packTo === null ? [] : [config.packTo])];
  return Promise.all(urls.map((url) => findingOf(config, url)));
}

async function findingOf(config: Config, url: string): Promise<Finding> {
  try {
    const source = await openSource(sourceOptions(config, url));
    try {
      const { objects, next } = await source.list({ signal: AbortSignal.timeout(20_000) });
      const seen = `${objects.length}${next === null ? '' : ' or more'}`;
      return { state: 'ok', what: `crate source ${source.url} answers: ${seen} files` };
    } finally {
      await source.close();
    }
  } catch (error) {
    if (!isWorkcrateError(error)) throw error;
    // What is wrong with a setting keeps the server from starting; a source that does not answer does not.
    const state = error.code === 'config_invalid' ? 'broken' : 'note';
    return { state, what: error.message, remedy: 'See --crate-sources and --pack-to' };
  }
}
