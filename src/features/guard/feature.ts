import { jsonFlag, type CommandHelp } from '../../core/command.ts';
import { defineFeature } from '../../core/feature.ts';
import { guardSettings as settings } from './settings.ts';

const subcommands = {
  test: {
    takes: 'FILE',
    summary:
      'Try each rule of a file (or shipped: the rules that come with workcrate) on its examples and counterexamples. The exit code is 1 if one does not come out.',
    flags: [jsonFlag],
    examples: ['guard test rules.yaml', 'guard test shipped --json'],
    docs: 'docs/guide/guard.md',
  },
  check: {
    takes: 'FILE',
    summary:
      'Say what the rules of a file would decide of the code or the output on standard input. Nothing is run, and the judge is not asked. The exit code is 1 if it would be blocked.',
    flags: [
      { flag: '--tool NAME', help: 'the tool that would be called', usual: 'execute_code' },
      { flag: '--language NAME', help: 'python, node or bash; without it code may be any of them' },
      { flag: '--after', help: 'it is what the tool answers, not code' },
      jsonFlag,
    ],
    examples: [
      'guard check shipped --language bash',
      'guard check rules.yaml --tool github_create_issue --after',
    ],
    docs: 'docs/guide/guard.md',
  },
} satisfies Record<string, CommandHelp>;

export const guard = defineFeature({
  name: 'guard',
  settings,
  commands: {
    guard: {
      after: 'validate',
      takes: 'SUBCOMMAND',
      summary: 'Try the rules by which a server judges calls of tools (--guard).',
      examples: ['guard test rules.yaml', 'guard check shipped --language bash'],
      docs: 'docs/guide/guard.md',
      subcommands,
      load: async () => (await import('./command.ts')).runGuard,
    },
  },
  doctor: [{ unlessRefused: 'guard', load: async () => (await import('./command.ts')).checkGuard }],
  check: async ({ guard: file }) => file !== null && (await import('./rule-file.ts')).loadRules(file),
  record: async () => (await import('./record.ts')).guardRecord,
  judge: {
    isWanted: ({ guard: file }) => file !== null,
    open: async (rooms, { guard: file }) => (await import('./wrappers.ts')).openGuard(rooms, file!),
  },
});
