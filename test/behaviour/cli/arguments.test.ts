import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { commands } from '../../../src/cli/commands.ts';
import { run, type Ended } from './program.testing.ts';

const manifest = join(import.meta.dirname, '../../../package.json');

/** One line on stderr that says what is wrong, nothing on stdout, no stack. */
function assertRefused({ code, stdout, stderr }: Ended, expected: RegExp): void {
  assert.match(stderr, expected);
  assert.match(stderr, /^workcrate: [^\n]+ See npx workcrate (?:[a-z]+ ){0,2}--help\.\n$/);
  assert.equal(stdout, '');
  assert.equal(code, 2);
}

it('--help names every command, and help of a command is its own', async () => {
  const [whole, word, serve, search] = await Promise.all([
    run(['--help']),
    run(['help']),
    run(['serve', '-h']),
    run(['crates', 'search', 'x', '--help']),
  ]);
  for (const { code, stderr } of [whole, word, serve, search]) assert.deepEqual([code, stderr], [0, '']);
  for (const name of [...Object.keys(commands), '--print-config', '--config FILE'])
    assert.ok(whole.stdout.includes(name), name);
  assert.equal(word.stdout, whole.stdout);
  assert.match(serve.stdout, /--file-ttl .*\[3600\]\n +WORKCRATE_FILE_TTL, MCP_FILE_TTL\n/);
  assert.match(search.stdout, /^Usage: npx workcrate crates search \[QUERY…\] \[OPTIONS\]\n/);
  assert.equal((await run(['help', 'crates', 'search'])).stdout, search.stdout);
});

it('--version prints the version of the package', async () => {
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  assert.deepEqual(await run(['--version']), { code: 0, stdout: `${version}\n`, stderr: '' });
  assert.equal((await run(['-v'])).stdout, `${version}\n`);
});

const mistakes: [string[], RegExp][] = [
  [
    [],
    /Say what to do: serve, stdio, check, doctor, user, usage, status, call, ask, gateway, audit, build, index, crates, replay, validate, guard\./,
  ],
  [['sreve'], /no command "sreve"\. Did you mean serve\? The commands are serve, stdio, check, doctor/],
  [['users', 'add', '--help'], /no command "users"\. Did you mean user\?/],
  [['help', 'crats'], /no command "crats"\. Did you mean crates\?/],
  [['constructor'], /no command "constructor"/],
  [['serve\nforged'], /no command "serve\\nforged"/],
  [['serve', 'now'], /"now" is one word too many/],
  [
    ['serve', '--prot', '80'],
    /: Unknown option '--prot'\. Did you mean --port\? See npx workcrate serve --help/,
  ],
  [['serve', '-p', '80'], /: Unknown option '-p'\. See/],
  [['serve', '--port', '--host', 'x'], /: Option '--port' argument is ambiguous\. See/],
  [['serve', '--port'], /'--port <value>' argument missing/],
  [['index', 'now'], /"now" is one word too many/],
  [
    ['crates'],
    /crates needs a subcommand: index, search, show, files, read, pack, status\. See npx workcrate crates/,
  ],
  [
    ['crates', 'serach', 'x'],
    /crates has no subcommand "serach"\. Did you mean search\? It has index, search/,
  ],
  [['crates', 'constructor'], /crates has no subcommand "constructor"\. It has/],
  [['crates', 'show'], /CRATE_ID is missing\. Usage: npx workcrate crates show CRATE_ID \[OPTIONS\]\. See/],
  [['crates', 'read', 'crate_0'], /PATH is missing\. Usage: npx workcrate crates read CRATE_ID PATH/],
  [['crates', 'index', '--json=yes'], /'--json' does not take an argument/],
  [['replay'], /CRATE is missing\. Usage: npx workcrate replay CRATE /],
  [['replay', 'a.zip', 'b.zip'], /"b\.zip" is one word too many/],
  [['validate'], /CRATE is missing\. Usage: npx workcrate validate CRATE /],
  [['validate', 'a.zip', '--profile', 'none'], /--profile takes one of ro-crate-1\.1, .*, not "none"/],
  [['user', 'list', 'ada'], /"ada" is one word too many\. Usage: npx workcrate user list /],
  [['user', 'add'], /NAME is missing/],
  [['build'], /FILE is missing/],
];

for (const [args, expected] of mistakes)
  it(`${JSON.stringify(args.join(' '))} is refused in one line with exit code 2`, async () => {
    assertRefused(await run(args), expected);
  });

it('a flag with a value that it does not take is refused with exit code 2, naming the flag', async () => {
  const { code, stdout, stderr } = await run(['serve', '--port', '65536']);
  assert.equal(stderr, 'workcrate: --port takes a whole number from 0 to 65535, not "65536"\n');
  assert.deepEqual([code, stdout], [2, '']);
  const behind = await run(['serve', '--packages', 'perhaps']);
  assert.match(behind.stderr, /^workcrate: "perhaps" is one word too many\./);
  const valued = await run(['serve', '--packages=perhaps']);
  assert.equal(valued.stderr, 'workcrate: --packages takes true or false, not "perhaps"\n');
});

it('a file that is not there is told in words', async () => {
  const missing = await run(['build', 'nope.md']);
  assert.deepEqual(
    [missing.code, missing.stderr],
    [1, 'workcrate: nope.md cannot be read: there is no such file.\n'],
  );
  const folder = await run(['build', '/usr']);
  assert.match(folder.stderr, /^workcrate: \/usr cannot be read: it is a folder\. Name the file in it\.\n$/);
});
