/** The tool validate_crate. The rules, and what is told of them, are in `validate/`. */
import { z } from 'zod';
import { listAs } from '../../../core/offer/schema.ts';
import { defineTool, type Tool } from '../../../core/offer/tool.ts';
import type { Crates } from '../crates.ts';
import { validationProfiles } from '../validate/profiles.ts';
import { describeValidation, validationSchema } from '../validate/report.ts';
import { crateIdSchema } from './schema.ts';

/** The tool that judges a crate by the rules of RO-Crate and of its profiles. */
export function createValidateCrateTool(crates: Crates): Tool {
  return defineTool({
    name: 'validate_crate',
    searchHint: 'ro-crate validator, conformance, profile, check metadata',
    group: 'validation',
    title: 'Check a crate by the rules of RO-Crate',
    description:
      'Check a crate by the rules of RO-Crate 1.1 to 1.3 and of the run profiles that it states: which entity breaks which MUST or SHOULD, and what to do. Nothing is fetched.',
    input: z.strictObject({
      crate_id: crateIdSchema,
      profile: listAs(z.enum(validationProfiles), {
        type: 'string',
        enum: [...validationProfiles],
        description: 'Default: the version and the profiles that the crate states',
      }).optional(),
    }),
    output: validationSchema.extend({ crate_id: z.string() }),
    annotations: { readOnlyHint: true, openWorldHint: crates.hasRemoteSources },
    mayBeTask: true,
    auditFields: { subject: ['crate_id'] },
    async handle({ crate_id, profile = null }, { caller, signal }) {
      const answer = await crates.validate(caller, crate_id, profile, signal);
      return { text: `${crate_id}: ${describeValidation(answer)}`, structured: { crate_id, ...answer } };
    },
  });
}
