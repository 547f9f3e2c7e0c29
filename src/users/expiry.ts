import { WorkcrateError } from '../errors.ts';

const unitMs: Record<string, number> = { h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const mostYears = 10;

/** When a key ends, from `90d`, `12h`, `4w`, a day, which is its start in UTC, or a time. */
export function expiryOf(text: string, now: number): number {
  const span = /^(\d{1,5})([hdw])$/.exec(text);
  const at = span ? now + Number(span[1]) * unitMs[span[2]!]! : timeOf(text);
  if (at > now && at <= now + mostYears * 366 * unitMs['d']!) return at;
  throw new WorkcrateError(
    'config_invalid',
    `--expires takes a future time within ${mostYears} years, such as 90d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z, not ${JSON.stringify(text)}.`,
  );
}

const isoTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

const timeOf = (text: string): number => (isoTime.test(text) ? Date.parse(text) : Number.NaN);
