/**
 * The rules that come with the program, in sets by what they are about. They are data in the form of a rule file; every
 * rule has examples and counterexamples, which a test runs. Which sets are on is the operator's choice (decision 057).
 */
import type { RuleSource } from '../rule.ts';
import { credentials } from './credentials.ts';
import { destruction } from './destruction.ts';
import { exfiltration } from './exfiltration.ts';
import { obfuscation } from './obfuscation.ts';
import { personalDataInOutput } from './personal-data.ts';
import { secretsInOutput } from './secrets.ts';

export const shippedSets = {
  destruction,
  credentials,
  exfiltration,
  obfuscation,
  'secrets-in-output': secretsInOutput,
  'personal-data-in-output': personalDataInOutput,
} satisfies Record<string, readonly RuleSource[]>;

export type ShippedSet = keyof typeof shippedSets;
