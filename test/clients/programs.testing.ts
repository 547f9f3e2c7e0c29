import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Naming } from './conversation.testing.ts';

/** Where a client finds Workcrate: a URL, or a command that it starts. */
export type Place = { readonly url: string } | { readonly command: string; readonly args: readonly string[] };

/** Folders and addresses of one run of a client. */
export interface Stage {
  /** Where the packages of the clients are. */
  readonly packages: string;
  readonly home: string;
  readonly project: string;
  readonly model: string;
  readonly place: Place;
}

export interface Invocation {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string>;
}

/** A client with a model of its own: how it is configured and started, and how it names tools. */
export interface Program {
  readonly title: string;
  readonly naming: Naming;
  /** Why it cannot be run on this system, or false. */
  missing(packages: string): string | false;
  prepare(stage: Stage): Invocation;
}

const prompt = 'Do what the script says.';

/** The package of a client for this system. The wrappers in JavaScript only look for it. */
const system = `${process.platform}-${process.arch}`;

export const claudeCode: Program = {
  title: 'Claude Code',
  missing: (packages) => lacksPackage(packages, `@anthropic-ai/claude-code-${system}`),
  naming: {
    tool: (name) => `mcp__wc__${name}`,
    shell: (command) => ({ name: 'Bash', input: { command, description: 'As the script says' } }),
  },
  prepare({ packages, home, model, place }) {
    const server = 'url' in place ? { type: 'http', url: place.url } : { type: 'stdio', ...place };
    const config = writeJson(join(home, 'mcp.json'), { mcpServers: { wc: server } });
    return {
      command: join(packages, `@anthropic-ai/claude-code-${system}`, 'claude'),
      args: [
        '-p',
        prompt,
        '--mcp-config',
        config,
        '--strict-mcp-config',
        '--allowedTools',
        'mcp__wc,Bash(curl:*),Bash(test:*)',
      ],
      env: {
        ANTHROPIC_BASE_URL: model,
        ANTHROPIC_API_KEY: 'not-a-key',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        DISABLE_TELEMETRY: '1',
        DISABLE_ERROR_REPORTING: '1',
      },
    };
  },
};

export const codex: Program = {
  title: 'Codex',
  missing: (packages) => lacksPackage(packages, `@openai/codex-${system}`),
  naming: {
    tool: (name) => `mcp__wc.${name}`,
    shell: (cmd) => ({ name: 'exec_command', input: { cmd } }),
  },
  prepare({ packages, home, project, model, place }) {
    const server =
      'url' in place
        ? `url = ${JSON.stringify(place.url)}`
        : `command = ${JSON.stringify(place.command)}\nargs = ${JSON.stringify(place.args)}`;
    writeText(
      join(home, '.codex/config.toml'),
      `model = "gpt-5"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "${model}/v1"
wire_api = "responses"
[analytics]
enabled = false
[features]
apps = false
plugins = false
[sandbox_workspace_write]
network_access = true
[mcp_servers.wc]
${server}
required = true
default_tools_approval_mode = "approve"
`,
    );
    return {
      command: process.execPath,
      args: [
        join(packages, '@openai/codex/bin/codex.js'),
        'exec',
        '--skip-git-repo-check',
        '--sandbox',
        'workspace-write',
        '-C',
        project,
        prompt,
      ],
      env: { CODEX_HOME: join(home, '.codex') },
    };
  },
};

/** Over HTTP it connects to no server on Node 26: headers are lost between its own copy of undici and Node's fetch. */
export const geminiCli: Program = {
  title: 'Gemini CLI',
  missing: (packages) => lacksPackage(packages, `node-${system}`),
  naming: {
    tool: (name) => `mcp_wc_${name}`,
    shell: (command) => ({ name: 'run_shell_command', input: { command } }),
  },
  prepare({ packages, home, model, place }) {
    const server = 'url' in place ? { httpUrl: place.url } : place;
    writeJson(join(home, '.gemini/settings.json'), {
      security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      tools: { useRipgrep: false },
      mcpServers: { wc: { ...server, trust: true } },
    });
    return {
      command: join(packages, `node-${system}/bin/node`),
      args: [
        join(packages, '@google/gemini-cli/bundle/gemini.js'),
        '--approval-mode',
        'yolo',
        '-m',
        'gemini-2.5-pro',
        '-p',
        prompt,
      ],
      env: { GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'not-a-key', GEMINI_CLI_NO_RELAUNCH: 'true' },
    };
  },
};

export const opencode: Program = {
  title: 'opencode',
  missing: (packages) => lacksPackage(packages, `opencode-${system}`),
  naming: {
    tool: (name) => `wc_${name}`,
    shell: (command) => ({ name: 'bash', input: { command, description: 'As the script says' } }),
  },
  prepare({ packages, home, model, place }) {
    const server =
      'url' in place
        ? { type: 'remote', url: place.url, oauth: false }
        : { type: 'local', command: [place.command, ...place.args] };
    const options = { baseURL: `${model}/v1`, apiKey: 'not-a-key' };
    const modalities = { input: ['text', 'image'], output: ['text'] };
    const config = writeJson(join(home, 'opencode.json'), {
      provider: {
        scripted: {
          npm: '@ai-sdk/openai-compatible',
          options,
          models: { scripted: { attachment: true, tool_call: true, modalities } },
        },
      },
      model: 'scripted/scripted',
      small_model: 'scripted/scripted',
      autoupdate: false,
      share: 'disabled',
      mcp: { wc: { ...server, enabled: true } },
    });
    // It installs a package for plugins at every start, unless this says that it is there.
    const folder = join(home, '.config/opencode');
    mkdirSync(join(folder, 'node_modules'), { recursive: true });
    writeJson(join(folder, 'package-lock.json'), {
      packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } },
    });
    return {
      command: join(packages, `opencode-${system}`, 'bin/opencode'),
      args: ['run', '--model', 'scripted/scripted', prompt],
      env: {
        OPENCODE_CONFIG: config,
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
        OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        OPENCODE_DISABLE_SHARE: '1',
      },
    };
  },
};

function lacksPackage(packages: string, name: string): string | false {
  return existsSync(join(packages, name)) ? false : `test/clients/packages has no ${name}`;
}

function writeJson(path: string, value: unknown): string {
  return writeText(path, JSON.stringify(value, null, 2));
}

function writeText(path: string, text: string): string {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
  return path;
}
