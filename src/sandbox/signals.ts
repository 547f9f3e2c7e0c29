import { constants } from 'node:os';

/** The first name counts: SIGABRT is also SIGIOT, SIGIO also SIGPOLL. */
const names = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name]),
);

/** Such as `SIGSEGV` for 11. Real-time signals have no names. */
export function signalName(number: number): string {
  return names.get(number) ?? `SIG${number}`;
}
