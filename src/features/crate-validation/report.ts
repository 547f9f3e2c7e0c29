/**
 * What people, models and programs are told of a validation: one finding for each rule that is broken, with the entities
 * that break it. What is judged, and how, is in `validate.ts`.
 */
import { z } from 'zod';
import { escapeControls, quoteShort } from '../../platform/text/text.ts';
import type { RuleProfile } from './rule.ts';
import type { BrokenRule, CrateValidation } from './validate.ts';

const profileTitles: Readonly<Record<RuleProfile, string>> = {
  'ro-crate': 'RO-Crate',
  'process-run-crate': 'Process Run Crate',
  'workflow-ro-crate': 'Workflow RO-Crate',
  'workflow-run-crate': 'Workflow Run Crate',
  'provenance-run-crate': 'Provenance Run Crate',
};

export const validationSchema = z.object({
  valid: z.boolean().describe('Whether no MUST is broken'),
  checked_as: z.array(z.string()).describe('The version of RO-Crate and the profiles'),
  attached: z.boolean().describe('Whether files belong to it, or it is metadata alone'),
  must: z.number().int().describe('How many rules with MUST are broken'),
  should: z.number().int(),
  findings: z.array(
    z.object({
      rule: z.string(),
      level: z.enum(['MUST', 'SHOULD']),
      profile: z.string(),
      text: z.string(),
      remedy: z.string().describe('What to do'),
      total: z.number().int().describe('How many entities break it'),
      count: z.number().int().describe('How many of them are named here'),
      entities: z.array(
        z.object({
          entity: z.string().nullable().describe('Its @id; null for the document as a whole'),
          detail: z.string().nullable(),
        }),
      ),
    }),
  ),
  notes: z.array(z.string()).describe('What was not checked, or is not in the crate'),
});

export type ValidationAnswer = z.output<typeof validationSchema>;

const maxEntitiesPerRule = 10;
const maxEntities = 200;
const maxEntityLength = 300;
const maxDetailLength = 600;

/** The answer is bounded, whatever the crate: each rule names at least one entity, and how many there are. */
export function toValidationAnswer({
  version,
  profiles,
  isAttached,
  broken,
  notes,
}: CrateValidation): ValidationAnswer {
  let room = maxEntities;
  const findings = broken.map((one) => {
    const named = one.violations.slice(0, Math.max(1, Math.min(room, maxEntitiesPerRule)));
    room -= named.length;
    return toFinding(one, named);
  });
  const count = (level: BrokenRule['level']): number => broken.filter((one) => one.level === level).length;
  return {
    valid: count('MUST') === 0,
    checked_as: profiles.map((profile) =>
      profile === 'ro-crate' ? `RO-Crate ${version}` : profileTitles[profile],
    ),
    attached: isAttached,
    must: count('MUST'),
    should: count('SHOULD'),
    findings,
    notes: notes.map((note) => escapeControls(note)),
  };
}

function toFinding(
  { rule, level, profile, text, remedy, count }: BrokenRule,
  named: BrokenRule['violations'],
): ValidationAnswer['findings'][number] {
  const entities = named.map(({ entity, detail }) => ({
    entity: entity === null ? null : cutReportText(entity, maxEntityLength),
    detail: detail === undefined ? null : escapeControls(cutReportText(detail, maxDetailLength)),
  }));
  return {
    rule,
    level,
    profile: profileTitles[profile],
    text,
    remedy,
    total: count,
    count: entities.length,
    entities,
  };
}

const cutReportText = (text: string, most: number): string => {
  const whole = text.toWellFormed().replaceAll('\0', '\u{fffd}');
  return whole.length <= most ? whole : `${whole.slice(0, most - 1).toWellFormed()}…`;
};

/** A line for the verdict, one for each rule that is broken, and below it one for each entity. */
export function describeCrateValidation(answer: ValidationAnswer): string {
  const { valid, checked_as, attached, must, should, findings, notes } = answer;
  const verdict = valid ? 'Valid' : 'Not valid';
  const kind = attached ? 'with its files' : 'metadata alone, without files';
  return [
    `${verdict} as ${checked_as.join(', ')} (${kind}): ${must} MUST and ${should} SHOULD rules are broken.`,
    ...findings.flatMap(describeFinding),
    ...notes.map((note) => `Note: ${note}`),
  ].join('\n');
}

function describeFinding(finding: ValidationAnswer['findings'][number]): string[] {
  const { rule, level, profile, text, remedy, total, count, entities } = finding;
  const lines = entities.map(({ entity, detail }) => {
    const name = entity === null ? 'the metadata' : quoteShort(entity, maxEntityLength);
    return ` - ${name}${detail === null ? '' : `: ${detail}`}`;
  });
  const more = total > count ? [` - and ${total - count} more, ${total} in all`] : [];
  return [`${level} ${rule} (${profile}): ${text} What to do: ${remedy}`, ...lines, ...more];
}
