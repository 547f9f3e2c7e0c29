/**
 * The clock of a run, which stands still while the run waits for a person. The stopper counts the timeout by it. How
 * long it may stand still in all is bounded, so that a run always ends.
 */

export interface RunClock {
  /** How long it may stand still, over all holds of the run. */
  readonly mostHeldMs: number;
  /** Stops the clock until this is disposed of, or has stood still for as long as it may. */
  hold(): Disposable;
  /** Is called with whether it stands still: now if it does, and whenever that changes. */
  watch(changed: (isHeld: boolean) => void): void;
}

export function createRunClock(mostHeldMs: number): RunClock {
  const watching: ((isHeld: boolean) => void)[] = [];
  let holds = 0;
  let leftMs = mostHeldMs;
  let heldSince = 0;
  let timer: NodeJS.Timeout | null = null;

  const tell = (isHeld: boolean): void => watching.forEach((changed) => changed(isHeld));
  const goOn = (): void => {
    if (timer === null) return;
    clearTimeout(timer);
    timer = null;
    leftMs -= performance.now() - heldSince;
    tell(false);
  };
  const stop = (): void => {
    if (timer !== null || leftMs <= 0) return;
    heldSince = performance.now();
    timer = setTimeout(goOn, leftMs).unref();
    tell(true);
  };

  return {
    mostHeldMs,
    hold() {
      holds++;
      stop();
      let isOver = false;
      return {
        [Symbol.dispose]() {
          if (isOver) return;
          isOver = true;
          holds--;
          if (holds === 0) goOn();
        },
      };
    },
    watch(changed) {
      watching.push(changed);
      if (timer !== null) changed(true);
    },
  };
}
