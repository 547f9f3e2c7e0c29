import { z } from 'zod';

export const crateId = z
  .string()
  .regex(/^crate_[0-9a-f]{24}$/, 'a crate_id looks like crate_ and 24 hex digits; search_index shows them');

export const memberPath = z
  .string()
  .min(1)
  .max(4096)
  .describe('Its path in the crate, exactly as list_crate_files tells it');
