import { jsonFlag, type CommandHelp, type CommandLinePart } from '../../core/command.ts';
import { gatewaySettings as settings } from './settings.ts';

const subcommands = {
  diff: {
    summary:
      'Show which tools of servers behind the gateway are held back because their definition has changed, and what has changed. The exit code is 1 if there is one.',
    flags: [jsonFlag],
    settings: ['data', 'database'],
    examples: ['gateway diff', 'gateway diff --data /srv/workcrate --json'],
    docs: 'docs/guide/gateway.md',
  },
  accept: {
    takes: 'SERVER [TOOL]',
    summary:
      'Accept the changed definitions of a server behind the gateway, or of one of its tools by its name there. A running server offers them again with the next list or call.',
    settings: ['data', 'database'],
    examples: ['gateway accept github', 'gateway accept github create_issue'],
    docs: 'docs/guide/gateway.md',
  },
} satisfies Record<string, CommandHelp>;

export const gateway: CommandLinePart<typeof settings> = {
  name: 'gateway',
  settings,
  commands: {
    gateway: {
      after: 'ask',
      takes: '[FILE]',
      summary:
        'Start the server with the MCP servers that FILE names behind it; the same as serve --gateway FILE. With a subcommand, look after their tools.',
      settings: ['gateway', 'gatewayIdle', 'gatewayConnections', 'host', 'port', 'auth', 'data', 'database'],
      examples: ['gateway servers.json', 'gateway diff'],
      docs: 'docs/guide/gateway.md',
      subcommands,
      actsAlone: true,
      load: async () => (await import('./command.ts')).runGateway,
    },
  },
  doctor: [{ unlessRefused: 'gateway', load: async () => (await import('./command.ts')).checkGateway }],
};
