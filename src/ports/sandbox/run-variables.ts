/**
 * The variables by which the same code writes the same bytes when it is run again (B13). What else is in the
 * environment of a run is decided by its backend.
 */

/**
 * The same for all runs. Python takes its seed for hashes when it starts, and interpreters wait before a run is known.
 * `inside` is where the run sees `inside-folder.ts`, whose `matplotlibrc` gives the ids in SVGs their salt.
 */
export const getRepeatableVariables = (inside: string): Readonly<Record<string, string>> => ({
  PYTHONHASHSEED: '0',
  MATPLOTLIBRC: `${inside}/matplotlibrc`,
});

/** What programs write into files instead of the time: the start of the run, in whole seconds. */
export const toEpochSeconds = (startedAt: number = Date.now()): string =>
  String(Math.floor(startedAt / 1000));

export const toEpochVariable = (startedAt?: number): Readonly<Record<string, string>> => ({
  SOURCE_DATE_EPOCH: toEpochSeconds(startedAt),
});
