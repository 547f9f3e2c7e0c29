/**
 * How old what came from a client may be to answer a call, and how an answer tells its age. An agent edits files and can
 * send them again, so what it sent answers one call; a person is not asked twice within the hour. Nothing is kept here.
 */
import { formatDuration } from '../../platform/text/text.ts';
import type { ArrivalMethod } from './client-file.ts';

/** What a call says about the age of what it takes. */
export interface AgeTerms {
  /** Most seconds since it came; undefined where the call does not say. */
  readonly maxAgeSeconds?: number | undefined;
  /** Whether nothing that is remembered will do. */
  readonly refresh?: boolean | undefined;
}

/** What a person gave, or was given by hand. */
const givenMethods: ReadonlySet<ArrivalMethod> = new Set(['url', 'form', 'given']);
const givenMs = 60 * 60_000;
/** What was sent for a call waits that long for the call to be made again. */
const waitingMs = 5 * 60_000;

/** A call may allow more than this; larger numbers are no mistake. */
export const maxAllowedAgeSeconds = 24 * 60 * 60;

/** Most milliseconds since something came that answers a call once more; negative for never. */
function getRememberedMs(rung: ArrivalMethod, { maxAgeSeconds, refresh = false }: AgeTerms): number {
  if (refresh) return -1;
  if (maxAgeSeconds !== undefined) return maxAgeSeconds * 1000;
  return givenMethods.has(rung) ? givenMs : -1;
}

/** Whether a person gave it, or it was given by hand. */
export const isGivenByPerson = ({ rung }: Pick<Arrival, 'rung'>): boolean => givenMethods.has(rung);

interface Arrival {
  readonly rung: ArrivalMethod;
  /** In milliseconds, by the clock of the server. */
  readonly receivedAt: number;
}

/** Whether what answered a call before answers this one too. */
export const mayAnswerAgain = ({ rung, receivedAt }: Arrival, terms: AgeTerms, now: number): boolean =>
  now - receivedAt <= getRememberedMs(rung, terms);

/** Whether what was sent, and answered no call yet, was sent for this one. */
export const mayAnswerFirst = ({ rung, receivedAt }: Arrival, terms: AgeTerms, now: number): boolean =>
  now - receivedAt <= Math.max(waitingMs, getRememberedMs(rung, terms));

const arrivalWords: Readonly<Record<ArrivalMethod, string>> = {
  direct: 'read in place',
  upload: 'sent by your shell',
  url: 'sent by a person on the page',
  form: 'typed into a form',
  sampling: 'typed by a model',
  given: 'given with guide_cache_file',
};

/** How something came, in words. */
export const describeMethod = (rung: ArrivalMethod): string => arrivalWords[rung];

/** How to have a newer one; null where the file itself was looked at. */
export function describeRefresh(rung: ArrivalMethod, isCached: boolean): string | null {
  if (rung === 'direct') return null;
  if (isCached) return 'remembered; refresh: true asks for it anew';
  return givenMethods.has(rung)
    ? 'remembered for an hour; refresh: true asks for it anew'
    : 'for this call only; the next asks for it anew, unless its max_age_s allows this copy';
}

/** Since when it is here, as people read it. */
export function describeAge(receivedAt: number, now: number): string {
  const seconds = toAgeSeconds(receivedAt, now);
  return `${seconds === 0 ? '0 s' : formatDuration(seconds * 1000)} ago`;
}

/** In whole seconds. */
export const toAgeSeconds = (receivedAt: number, now: number): number =>
  Math.max(0, Math.round((now - receivedAt) / 1000));
