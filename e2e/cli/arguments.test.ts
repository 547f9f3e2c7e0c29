import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { run, type Ended } from './program.testing.ts';

const manifest = join(import.meta.dirname, '../../package.json');

/** One line on stderr that says what is wrong, nothing on stdout, no stack. */
function assertRefused({ code, stdout, stderr }: Ended, expected: RegExp): void {
  assert.match(stderr, expected);
  assert.match(stderr, /^workcrate: [^\n]+ See workcrate --help\.\n$/);
  assert.equal(stdout, '');
  assert.equal(code, 2);
}

it('--help names every command and, for each setting, its flag and its variables', async () => {
  const { code, stdout, stderr } = await run(['--help']);
  assert.equal(code, 0);
  assert.equal(stderr, '');
  for (const word of [
    'serve',
    'stdio',
    'check',
    'doctor',
    'crates',
    'index',
    'replay',
    '--print-config',
    '--read-data',
    '--config FILE',
  ])
    assert.ok(stdout.includes(word), word);
  assert.match(stdout, /--file-ttl .*\[3600\]\n +WORKCRATE_FILE_TTL, MCP_FILE_TTL\n/);
  assert.equal((await run(['serve', '-h'])).stdout, stdout);
});

it('--version prints the version of the package', async () => {
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  assert.deepEqual(await run(['--version']), { code: 0, stdout: `${version}\n`, stderr: '' });
  assert.equal((await run(['-v'])).stdout, `${version}\n`);
});

const mistakes: [string[], RegExp][] = [
  [
    [],
    /say what to do: serve, stdio, check, doctor, user, usage, status, audit, build, index, crates, replay\./,
  ],
  [['sreve'], /no command "sreve"; there are serve, stdio, check, doctor/],
  [['constructor'], /no command "constructor"/],
  [['serve\nforged'], /no command "serve\\nforged"/],
  [['serve', 'now'], /"now" is one word too many/],
  [['serve', '--prot', '80'], /: Unknown option '--prot'\. See/],
  [['serve', '-p', '80'], /: Unknown option '-p'\. See/],
  [['serve', '--port', '--host', 'x'], /: Option '--port' argument is ambiguous\. See/],
  [['serve', '--port'], /'--port <value>' argument missing/],
  [['serve', '--conformance=yes'], /'--conformance' does not take an argument/],
  [['index', 'now'], /"now" is one word too many/],
  [['crates'], /workcrate crates takes: index, search QUERY, show CRATE_ID/],
  [['crates', 'constructor'], /workcrate crates takes:/],
  [['crates', 'show'], /workcrate crates takes:/],
  [['crates', 'read', 'crate_0'], /workcrate crates takes:/],
  [['crates', 'index', '--json=yes'], /'--json' does not take an argument/],
  [['replay'], /workcrate replay takes one crate: FILE\.zip or CRATE_ID/],
  [['replay', 'a.zip', 'b.zip'], /workcrate replay takes one crate/],
];

for (const [args, expected] of mistakes)
  it(`${JSON.stringify(args.join(' '))} is refused in one line with exit code 2`, async () => {
    assertRefused(await run(args), expected);
  });

it('a flag with a value that it does not take is refused with exit code 2, naming the flag', async () => {
  const { code, stdout, stderr } = await run(['serve', '--port', '65536']);
  assert.equal(stderr, 'workcrate: --port takes a whole number from 0 to 65535, not "65536"\n');
  assert.deepEqual([code, stdout], [2, '']);
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
