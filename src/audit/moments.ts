import { z } from 'zod';

const momentForm = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** A day (UTC), which means its beginning, or a moment with its zone. */
export const moment = z
  .string()
  .regex(momentForm, 'Take a day such as 2026-05-04, or a moment such as 2026-05-04T12:00Z')
  .refine((text) => !Number.isNaN(Date.parse(text)) && isDay(text.slice(0, 10)), 'There is no such time');

/** The 30th of February would pass for the 2nd of March. */
function isDay(text: string): boolean {
  const day = new Date(text);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

export const timeOf = (given: string | undefined): number | undefined =>
  given === undefined ? undefined : Date.parse(given);
