/** `workcrate serve` and `workcrate stdio` that also have the fixtures of the conformance suite. Takes settings only. */
import { parseArgs } from 'node:util';
import { completeFlags } from '../../src/cli/flags.ts';
import { runServe } from '../../src/cli/serve.ts';
import { runStdio } from '../../src/cli/stdio.ts';
import { toFlagOptions } from '../../src/platform/config/config.ts';
import { loadConfig, allSettings } from '../../src/server/settings.ts';
import { addFixtures } from './fixtures/fixtures.testing.ts';

const args = completeFlags(process.argv.slice(2));
const { values, positionals } = parseArgs({
  args,
  options: toFlagOptions(allSettings),
  allowPositionals: true,
});
const flags = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
const command = positionals[0] === 'stdio' ? runStdio : runServe;
process.exitCode = await command({ ...loadConfig(flags), flags, extend: addFixtures });
