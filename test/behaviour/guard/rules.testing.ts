import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { RuleSource } from '../../../src/features/guard/rule.ts';

/** A rule file as an operator writes it. */
export interface RuleFile {
  readonly use?: readonly unknown[];
  readonly without?: readonly string[];
  readonly rules?: readonly Partial<RuleSource>[];
  readonly judge?: unknown;
}

/** The path of a file with these rules, which goes with the suite. JSON is YAML. */
export function writeRules(rules: RuleFile | string): string {
  const folder = mkdtempSync(join(tmpdir(), 'workcrate-rules-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'rules.yaml');
  writeFileSync(path, typeof rules === 'string' ? rules : JSON.stringify(rules, null, 2));
  return path;
}
