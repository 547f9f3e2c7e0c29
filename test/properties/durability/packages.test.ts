import assert from 'node:assert/strict';
import { readdirSync, readlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { startPythonIndex } from '../../../src/features/packages/registries.testing.ts';
import { findMissingPip } from '../../../src/features/packages/room.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { run, serve, temporaryFolder, type Program } from '../../behaviour/cli/program.testing.ts';
import { losableDisk } from './power-loss.testing.ts';

const skip = noSandbox || findMissingPip();
const wheels = ['alpha', 'beta', 'gamma'].map((name) => ({ name, version: '1.0' }));
const settings = (data: string, index: string): string[] =>
  `--data ${data} --tools default,packages --sandbox bubblewrap --pip-index-url ${index}`.split(' ');

async function install(program: Program, name: string): Promise<void> {
  const { failed, text } = await program.call('install_packages', { language: 'python', names: [name] });
  assert.equal(failed, false, text);
}

async function importAll(program: Program, names: readonly string[]): Promise<string> {
  const code = names.map((name) => `import ${name}; print(${name}.version)`).join('\n');
  const { data } = await program.call('execute_code', { language: 'python', code });
  return data.stdout + data.stderr;
}

it(
  'packages that were installed outlive a loss of power, and so do those before them',
  { skip },
  async (t) => {
    await using disk = await losableDisk(t);
    if (disk === null) return;
    await using index = await startPythonIndex(wheels);
    const args = settings(join(disk.path, 'data'), index.url);
    const installed: string[] = [];
    for (const { name } of wheels) {
      {
        await using program = await serve(args, { program: disk.program });
        await install(program, name);
        installed.push(name);
        disk.cutPower();
      }
      disk.mountAgain();
      await using program = await serve(args, { program: disk.program });
      assert.equal(await importAll(program, installed), '1.0\n'.repeat(installed.length));
      await program.end('SIGTERM');
    }
    recordProof('D13:packages-outlive-a-loss-of-power');
  },
);

it(
  'an environment whose description is lost gives way to the one before it, and that is told',
  { skip },
  async () => {
    await using folder = await temporaryFolder();
    await using index = await startPythonIndex(wheels);
    const args = settings(folder.path, index.url);
    const python = join(folder.path, 'places/1/packages/python');
    {
      await using program = await serve(args);
      await install(program, 'alpha');
      await install(program, 'beta');
      await program.end('SIGTERM');
    }
    const damaged = readlinkSync(join(python, 'current'));
    truncateSync(join(python, `${damaged}.json`), 0);
    const broken = await run(['check', '--data', folder.path]);
    assert.equal(broken.code, 1);
    assert.match(broken.stdout, /problem: the python packages in \S+ are damaged: install them again/);
    {
      await using program = await serve(args);
      assert.equal(await importAll(program, ['alpha']), '1.0\n');
      const { text, data } = await program.call('list_packages', {});
      assert.deepEqual(data.languages[0].requested, ['alpha']);
      assert.match(text, /Python.*What was installed last was damaged/);
      assert.match(program.output.stderr, /"packages\.damaged".*"language":"python"/);
      await install(program, 'beta');
      assert.doesNotMatch((await program.call('list_packages', {})).text, /damaged/);
      await program.end('SIGTERM');
    }
    assert.equal((await run(['check', '--data', folder.path])).code, 0);
    // With nothing to fall back on, nothing is deleted.
    for (const name of readdirSync(python)) if (name.endsWith('.json')) truncateSync(join(python, name), 0);
    const before = readdirSync(python).filter((name) => /^[0-9a-f]{12}$/.test(name));
    await using program = await serve(args);
    assert.match((await program.call('list_packages', {})).text, /nothing is installed.*was damaged/);
    assert.deepEqual(
      readdirSync(python).filter((name) => /^[0-9a-f]{12}$/.test(name)),
      before,
    );
  },
);
