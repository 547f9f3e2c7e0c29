import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { parseArgs } from 'node:util';
import { listSwitchFlags } from '../platform/config/config.ts';
import { loadConfig, allSettings } from '../server/settings.ts';
import type { CommandHelp } from '../core/command.ts';
import { commands, checkCommand, getHelp } from './commands.ts';
import { completeFlags, listFlagOptions } from './flags.ts';

const checkout = join(import.meta.dirname, '../..');

/** Every command and subcommand, by its name as it is typed. */
const all: [string, CommandHelp][] = Object.entries<CommandHelp>(commands).flatMap(([name, help]) => [
  [name, help] as [string, CommandHelp],
  ...Object.entries(help.subcommands ?? {}).map(
    ([below, more]) => [`${name} ${below}`, more] as [string, CommandHelp],
  ),
]);

const flagsIn = (text: string): string[] =>
  [...text.matchAll(/^ {2}(?:-\w, )?--([a-z0-9-]+)/gm)].map(([, name]) => name!);

it('every command that has help can be run', async () => {
  for (const { load } of Object.values(commands)) assert.equal(typeof (await load()), 'function');
});

it('a flag has one form in all commands, and so have the settings that help names', () => {
  const forms = new Map<string, string>();
  for (const [name, { flags = [], settings = [] }] of all) {
    for (const { flag, isList = false } of flags) {
      const [word] = /--[a-z-]+/.exec(flag)!;
      const form = `${flag.replace(/ [A-Z]+$/, ' VALUE')} ${isList}`;
      assert.equal(form, forms.getOrInsert(word, form), name);
    }
    for (const setting of settings === 'all' ? [] : settings) assert.ok(setting in allSettings, setting);
  }
});

for (const [name, help] of all) {
  it(`${name} --help has a usage line, a summary, flags that exist, examples that are taken, and a page`, () => {
    const text = getHelp(name.split(' '));
    const [usage, , summary] = text.split('\n');
    assert.ok(usage!.startsWith(`Usage: npx workcrate ${name} `), text);
    assert.match(summary!, /^[A-Z].+\.$/);
    const known = Object.keys(listFlagOptions());
    for (const flag of flagsIn(text)) assert.ok(known.includes(flag), `--${flag}`);
    for (const example of help.examples) assertTaken(name, example);
    assert.ok(existsSync(join(checkout, help.docs)), help.docs);
    assert.ok(text.endsWith(`Read more: ${help.docs}\n`));
  });
}

for (const [name, { takes = '' }] of all.filter(
  ([, help]) => !help.subcommands && !help.takes?.includes('…'),
))
  it(`${name} with a word too many is refused with its own usage`, () => {
    const words = `${name} ${takes}`.trim().split(' ');
    assert.throws(() => checkCommand([...words, 'more']), {
      code: 'config_invalid',
      message: new RegExp(`"more" is one word too many\\. Usage: npx workcrate ${name} .*See .* --help\\.$`),
    });
  });

/** An example is read as a shell would, and begins with the command that it is an example of. */
function assertTaken(name: string, example: string): void {
  assert.ok(`${example} `.startsWith(`${name} `), example);
  const args = [...example.replace(/ > .*/, '').matchAll(/'([^']*)'|\S+/g)].map(
    ([word, quoted]) => quoted ?? word,
  );
  const { positionals } = parseArgs({
    args: completeFlags(args),
    options: listFlagOptions(),
    allowPositionals: true,
  });
  assert.equal(checkCommand(positionals), name.split(' ')[0]);
}

it('every setting that is true or false is switched on by its flag alone, and on and off by a value', () => {
  const read = (...argv: string[]) => {
    const { values, positionals } = parseArgs({
      args: completeFlags(argv),
      options: listFlagOptions(),
      allowPositionals: true,
    });
    return [values, positionals];
  };
  const switchFlags = listSwitchFlags(allSettings);
  assert.ok(switchFlags.size > 5);
  for (const flag of switchFlags) {
    const name = flag.slice(2);
    for (const value of ['true', 'false'])
      for (const given of [[flag, value], [`${flag}=${value}`]])
        assert.deepEqual(read(...given, 'serve'), [{ __proto__: null, [name]: value }, ['serve']]);
    for (const behind of [['serve'], ['--', 'false'], [], ['--port', '0']])
      assert.equal((read(flag, ...behind)[0] as Record<string, string>)[name], 'true');
    assert.deepEqual(read(flag, '--', 'false')[1], ['false']);
    assert.throws(() => loadConfig({ [name]: 'perhaps' }), { message: /true or false/ });
  }
});

it('every flag is in the help of a command or of the program', () => {
  const shown = new Set(
    [[], ...all.map(([name]) => name.split(' '))].flatMap((words) => flagsIn(getHelp(words))),
  );
  assert.deepEqual(
    Object.keys(listFlagOptions()).filter((flag) => !shown.has(flag)),
    [],
  );
});

it('a misspelt command or subcommand is answered with the one that was meant', () => {
  for (const [name] of all) {
    const words = name.split(' ');
    const last = words.at(-1)!;
    const wrong = [...words.slice(0, -1), `${last.slice(0, -1)}${last.at(-1)}x`];
    assert.throws(() => getHelp(wrong), { message: new RegExp(` Did you mean ${last}\\?`) });
  }
});

it('messages name commands as they can be typed in a checkout, by the one constant', () => {
  const bare = new RegExp(`(?<![/\\w])workcrate (?:${Object.keys(commands).join('|')}|--)`);
  const found = globSync('src/**/*.ts', { cwd: checkout })
    .filter((path) => !/\.test(?:ing)?\.ts$/.test(path))
    .flatMap((path) => readFileSync(join(checkout, path), 'utf8').split('\n'))
    .filter((line) => bare.test(line) && !/^\s*(?:\/\*|\*|\/\/)/.test(line) && !/^ +examples: /.test(line));
  assert.deepEqual(found, []);
});
