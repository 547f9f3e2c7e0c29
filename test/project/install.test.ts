/**
 * What other programs read to install Workcrate: the registry's server.json, the Claude Code plugin, the guidance for
 * agents. Checked offline, by the rules of their formats; CONTRIBUTING.md names the commands that check them fully.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import * as z from 'zod';
import { settings } from '../../src/platform/config/settings.ts';
import { recordProof } from '../requirements/requirements.testing.ts';

const root = join(import.meta.dirname, '../..');
const readText = (path: string): string => readFileSync(join(root, path), 'utf8');
const readJson = (path: string): unknown => JSON.parse(readText(path));

const manifest = z
  .object({
    name: z.string(),
    version: z.string(),
    mcpName: z.string(),
    license: z.string(),
    files: z.array(z.string()),
    bin: z.record(z.string(), z.string()),
  })
  .parse(readJson('package.json'));

/** Of the schema 2025-12-11: what a server with npm packages can have. */
const registryEntry = z.strictObject({
  $schema: z.literal('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: z.string().min(1).max(100),
  description: z.string().min(1).max(100),
  version: z.string().max(255),
  packages: z.array(
    z.strictObject({
      registryType: z.literal('npm'),
      registryBaseUrl: z.literal('https://registry.npmjs.org'),
      identifier: z.string(),
      version: z.string().regex(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/),
      runtimeHint: z.literal('npx'),
      transport: z.strictObject({ type: z.literal('stdio') }),
      packageArguments: z.array(z.strictObject({ type: z.literal('positional'), value: z.string() })),
      environmentVariables: z.array(
        z.strictObject({
          name: z.string(),
          description: z.string(),
          format: z.enum(['string', 'number', 'boolean', 'filepath']).optional(),
        }),
      ),
    }),
  ),
});

it('server.json fits the schema of the MCP Registry and agrees with package.json', () => {
  const entry = registryEntry.parse(readJson('packaging/server.json'));
  assert.equal(entry.name, manifest.mcpName, 'the registry looks for mcpName in the published package');
  assert.equal(entry.version, manifest.version);
  const [published, ...others] = entry.packages;
  assert.deepEqual([published!.identifier, published!.version], [manifest.name, manifest.version]);
  assert.deepEqual(others, []);
  assert.deepEqual(published!.packageArguments, [{ type: 'positional', value: 'stdio' }]);
  const known = new Set(
    Object.keys(settings).map(
      (name) => `WORKCRATE_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
    ),
  );
  for (const { name } of published!.environmentVariables) assert.ok(known.has(name), name);
  recordProof('G4:registry-server-json');
});

const pluginManifest = z.object({
  name: z.string().regex(/^[a-z0-9-]+$/),
  version: z.string(),
  description: z.string().min(1),
  license: z.string(),
});

const marketplace = z.object({
  name: z.string().regex(/^[a-z0-9-]+$/),
  owner: z.object({ name: z.string() }),
  plugins: z.array(z.object({ name: z.string(), source: z.string().startsWith('./') })).length(1),
});

const plannedServers = z.object({
  mcpServers: z.record(z.string(), z.object({ type: z.literal('http'), url: z.string() })),
});

it('the marketplace leads to a plugin that connects to a running server and brings a skill', () => {
  const [offered] = marketplace.parse(readJson('.claude-plugin/marketplace.json')).plugins;
  const plugin = pluginManifest.parse(readJson(join(offered!.source, '.claude-plugin/plugin.json')));
  assert.equal(offered!.name, plugin.name);
  assert.deepEqual([plugin.version, plugin.license], [manifest.version, manifest.license]);
  const { mcpServers } = plannedServers.parse(readJson(join(offered!.source, '.mcp.json')));
  const url = `http://127.0.0.1:${settings.port.fallback({})}/mcp`;
  assert.equal(mcpServers['workcrate']?.url, `\${WORKCRATE_URL:-${url}}`);
  const skill = readText(join(offered!.source, 'skills/workcrate/SKILL.md'));
  assert.match(skill, /^---\nname: workcrate\ndescription: [^\n]{50,1024}\n---\n/);
  recordProof('G4:plugin');
});

it('AGENTS.md and the skill give the same guidance, and AGENTS.md is published and found', () => {
  const guidance = (text: string): string => text.slice(text.indexOf('# Using Workcrate'));
  const agents = readText('AGENTS.md');
  assert.equal(guidance(readText('packaging/plugin/skills/workcrate/SKILL.md')), guidance(agents));
  assert.ok(agents.includes('(CONTRIBUTING.md)'));
  assert.ok(manifest.files.includes('AGENTS.md'));
  assert.match(readText('.github/copilot-instructions.md'), /\(\.\.\/AGENTS\.md\)/);
});

it('every tool that AGENTS.md names is in docs/reference/tools.md', () => {
  const tools = new Set(
    [...readText('docs/reference/tools.md').matchAll(/^\| `(\w+)` /gm)].map(([, name]) => name!),
  );
  const named = [...readText('AGENTS.md').matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, name]) => name!);
  const inputs = /^tool \w+ inputSchema properties (\w+) /gm;
  const contract = readText('test/project/contract.snapshot.txt');
  const known = new Set([...tools, 'file_id', ...[...contract.matchAll(inputs)].map(([, name]) => name!)]);
  assert.deepEqual(
    named.filter((name) => !known.has(name)),
    [],
  );
  assert.ok(existsSync(join(root, 'CONTRIBUTING.md')));
});

it('packages beside this one have its version, and are asked for in it', () => {
  const { optionalDependencies } = z
    .object({ optionalDependencies: z.record(z.string(), z.string()) })
    .parse(readJson('package.json'));
  const shape = z.object({
    name: z.string().startsWith('@workcrate/'),
    version: z.literal(manifest.version),
    license: z.literal(manifest.license),
    peerDependencies: z.looseObject({ workcrate: z.literal(manifest.version) }),
  });
  for (const path of globSync('packages/*/package.json', { cwd: root }))
    assert.equal(optionalDependencies[shape.parse(readJson(path)).name], manifest.version, path);
});
