/** The tool validate_crate. What is told of a validation is in `report.ts`. */
import { z } from 'zod';
import { listAs } from '../../core/offer/schema.ts';
import { declareTool, type DeclaredTool } from '../../core/offer/tool.ts';
import type { CratesRoom, CrateTerms } from '../crates/feature.ts';
import { redactCrateTools } from '../crates/tools/redact-folders.ts';
import { crateIdSchema } from '../crates/tools/schema.ts';
import type { CrateValidations } from './crate-validation.ts';
import { validationProfiles } from './profiles.ts';
import { describeCrateValidation, validationSchema } from './report.ts';

export interface ValidationRoom extends Pick<CratesRoom, 'crates'> {
  readonly validation: CrateValidations;
}

export const declareValidationTools = (terms: CrateTerms): DeclaredTool<ValidationRoom>[] =>
  redactCrateTools([declareValidateCrateTool(terms)]);

/** The tool that judges a crate by the rules of RO-Crate and of its profiles. */
function declareValidateCrateTool({ hasRemoteSources }: CrateTerms) {
  return declareTool({
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
    annotations: { readOnlyHint: true, openWorldHint: hasRemoteSources },
    mayBeTask: true,
    auditFields: { subject: ['crate_id'] },
    async handle({ validation }: ValidationRoom, { crate_id, profile = null }, { caller, signal }) {
      const answer = await validation.validate(caller, crate_id, profile, signal);
      return { text: `${crate_id}: ${describeCrateValidation(answer)}`, structured: { crate_id, ...answer } };
    },
  });
}
