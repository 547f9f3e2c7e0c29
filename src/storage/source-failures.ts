import { WorkcrateError } from '../errors.ts';

export const sourceUnreachable = (url: string, reason: string, cause?: unknown): WorkcrateError =>
  new WorkcrateError('source_unreachable', `The source ${url} cannot be used. ${reason}`, { cause });

export const crateChanged = (url: string, name: string): WorkcrateError =>
  new WorkcrateError(
    'crate_changed',
    `${JSON.stringify(name)} in ${url} has changed since it was looked at. Bring the index up to date, then try again.`,
  );

export const crateGone = (url: string, name: string): WorkcrateError =>
  new WorkcrateError(
    'crate_gone',
    `${JSON.stringify(name)} is not in ${url} any more. Bring the index up to date, and search again.`,
  );

/** What is wrong with a store is wrong with the source in it; whoever writes is told more than whoever reads. */
export interface Reaching {
  <T>(work: () => Promise<T>): Promise<T>;
  writing<T>(work: () => Promise<T>): Promise<T>;
  each<T>(steps: AsyncIterable<T>): AsyncGenerator<T>;
}

export function reaching(url: string): Reaching {
  const told = (error: unknown, ...asItIs: string[]): unknown =>
    error instanceof WorkcrateError && error.code.startsWith('storage_') && !asItIs.includes(error.code)
      ? sourceUnreachable(url, error.message, error.cause)
      : error;
  const reach = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw told(error);
    }
  };
  const writing = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw told(error, 'storage_full', 'storage_read_only');
    }
  };
  async function* each<T>(steps: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* steps;
    } catch (error) {
      throw told(error);
    }
  }
  return Object.assign(reach, { writing, each });
}
