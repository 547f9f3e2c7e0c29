import { z } from 'zod';

/** A day (UTC), which means its beginning, or a moment with its zone. */
export const moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

export const timeOf = (given: string | undefined): number | undefined =>
  given === undefined ? undefined : Date.parse(given);
