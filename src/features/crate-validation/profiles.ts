/** The profiles that a crate can be judged by, which of them include others, and where they are published. */
import type { RuleProfile } from './rule.ts';

/** By what a crate can be judged: a version of RO-Crate, or a profile. */
export const validationProfiles = [
  'ro-crate-1.1',
  'ro-crate-1.2',
  'ro-crate-1.3',
  'process-run-crate',
  'workflow-ro-crate',
  'workflow-run-crate',
  'provenance-run-crate',
] as const;
export type ValidationProfile = (typeof validationProfiles)[number];

/** The addresses under which profiles are published, without the version. */
export const profileAddresses: Readonly<Record<Exclude<RuleProfile, 'ro-crate'>, string>> = {
  'process-run-crate': 'https://w3id.org/ro/wfrun/process/',
  'workflow-ro-crate': 'https://w3id.org/workflowhub/workflow-ro-crate/',
  'workflow-run-crate': 'https://w3id.org/ro/wfrun/workflow/',
  'provenance-run-crate': 'https://w3id.org/ro/wfrun/provenance/',
};

/** A profile includes the rules of those that it is based on. */
export const includedProfiles: Readonly<Record<RuleProfile, readonly RuleProfile[]>> = {
  'ro-crate': ['ro-crate'],
  'process-run-crate': ['ro-crate', 'process-run-crate'],
  'workflow-ro-crate': ['ro-crate', 'workflow-ro-crate'],
  'workflow-run-crate': ['ro-crate', 'process-run-crate', 'workflow-ro-crate', 'workflow-run-crate'],
  'provenance-run-crate': [
    'ro-crate',
    'process-run-crate',
    'workflow-ro-crate',
    'workflow-run-crate',
    'provenance-run-crate',
  ],
};
