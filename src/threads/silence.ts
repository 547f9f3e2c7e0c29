/** Counted in looks and not in time, since a machine that slept has not been silent. */
const mostLooks = 10;

interface SilenceOptions {
  /** Null where nobody minds. */
  readonly silentMs: number | null;
  isBusy(): boolean;
  ping(): void;
  tooLong(cause: Error): void;
}

/** Asks whoever has something to do for a sign of life every so often, and tells where none comes for long. */
export function watchSilence({ silentMs, isBusy, ping, tooLong }: SilenceOptions) {
  // How long it takes to start depends on the machine alone: it counts from the first sign.
  let [looks, hasSpoken] = [0, false];

  function look(): void {
    if (!isBusy()) return void (looks = 0);
    if (hasSpoken && ++looks > mostLooks)
      tooLong(new Error(`There was no sign of life for ${silentMs! / 1000} seconds.`));
    else ping();
  }

  const timer = silentMs === null ? undefined : setInterval(look, silentMs / mostLooks).unref();
  return {
    broken(): void {
      [looks, hasSpoken] = [0, true];
    },
    stop: (): void => clearInterval(timer),
  };
}
