/**
 * Makes docs/reference/crate-rules.md from the rules in src/features/crate-validation/, so that the page cannot say anything else.
 *
 *   node scripts/crate-rules-docs.ts
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CrateRule, RuleProfile } from '../src/features/crate-validation/rule.ts';
import { validationRules } from '../src/features/crate-validation/validate.ts';
import { formatTable } from './markdown-table.ts';

const titles: Readonly<Record<RuleProfile, string>> = {
  'ro-crate': 'RO-Crate',
  'process-run-crate': 'Process Run Crate',
  'workflow-ro-crate': 'Workflow RO-Crate',
  'workflow-run-crate': 'Workflow Run Crate',
  'provenance-run-crate': 'Provenance Run Crate',
};

const head = `# Rules for crates

What \`npx workcrate validate\` and the tool \`validate_crate\` check: [validate.md](validate.md). \`node scripts/crate-rules-docs.ts\` makes this page from the rules themselves.`;

export function crateRulesPage(): string {
  const parts = Object.entries(titles).map(([profile, title]) => {
    const rules = validationRules.filter((rule) => rule.profile === profile);
    const ids = [...new Set(rules.map(({ id }) => id))];
    const rows = ids.map((id) => formatRule(rules.filter((rule) => rule.id === id)));
    return `## ${title}\n\n${formatTable(['rule', 'level', 'what it demands'], rows)}`;
  });
  return `${[head, ...parts].join('\n\n')}\n`;
}

/** A rule whose level differs between versions of RO-Crate is made once for each; their texts differ by the level. */
function formatRule(rules: readonly CrateRule[]): string[] {
  const last = rules.at(-1)!;
  return [`\`${last.id}\``, rules.map(formatLevel).join(', '), formatText(last.text)];
}

function formatLevel({ level, versions }: CrateRule): string {
  if (versions.length === 3) return level;
  return versions[0] === '1.1' ? `${level} in ${versions.join(' and ')}` : `${level} from ${versions[0]}`;
}

const formatText = (text: string): string => text.replaceAll('"@id"', '`"@id"`');

if (import.meta.main)
  writeFileSync(join(import.meta.dirname, '../docs/reference/crate-rules.md'), crateRulesPage());
