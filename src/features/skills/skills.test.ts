import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createProgramRunner } from '../../core/runs/run-program.ts';
import { ada, openRoom } from '../../core/runs/room.testing.ts';
import { createLog } from '../../platform/observability/log.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';
import { createSkills, shippedSkillsFolder, type Skills } from './skills.ts';

const manifest = (name: string, description = `About ${name}`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\nDo ${name}.\n`;

const room = await openRoom();
after(() => room[Symbol.asyncDispose]());
const runProgram = createProgramRunner(room.sandbox, room.places);

describe('skills in folders', () => {
  let folder: string;
  let [own, shipped, tools] = ['', '', ''];
  let skills: Skills;
  const logged: string[] = [];
  const write = async (path: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  };
  const add = (name: string, text = manifest(name)) => write(join(own, name, 'SKILL.md'), text);
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'workcrate-skills-'));
    [own, shipped, tools] = ['own', 'shipped', 'tools'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    await write(join(shipped, 'given', 'SKILL.md'), manifest('given'));
    await write(join(shipped, 'other', 'SKILL.md'), manifest('other'));
    const log = createLog('debug', (line) => void logged.push(line));
    skills = createSkills({ own, shipped, tools, replaceable: ['given'], runProgram, log });
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const names = async (): Promise<string[]> => (await skills.list()).skills.map(({ name }) => name);
  const request = { caller: ada, signal: new AbortController().signal };
  const document = (file: string) => skills.document(file, request);
  const whyNot = async (name: string): Promise<string> =>
    (await skills.list()).broken.find((one) => one.name === name)?.reason ?? 'not reported';

  it('a folder that is not there has none, and the shipped ones are there', async () => {
    assert.deepEqual(await names(), ['given', 'other']);
    assert.deepEqual((await skills.list()).broken, []);
    assert.deepEqual(await skills.listTools(), []);
  });

  it('what is added, changed, renamed and removed is seen at the next call', async () => {
    await add('mine');
    assert.deepEqual(await names(), ['given', 'mine', 'other']);
    const [time, before] = [new Date(), (await skills.find('mine')).entry];
    await add('mine', manifest('mine', 'Other words'));
    assert.equal((await skills.find('mine')).description, 'Other words');
    // The same size and the same time: the change of the inode tells.
    await add('mine', manifest('mine', 'Words other'));
    await utimes(join(own, 'mine', 'SKILL.md'), time, time);
    assert.equal((await skills.find('mine')).description, 'Words other');
    assert.notDeepEqual((await skills.find('mine')).entry, before);
    await write(join(own, 'mine', 'references', 'more.md'), 'more');
    assert.equal((await skills.read('mine', 'references/more.md')).bytes.toString(), 'more');
    await rename(join(own, 'mine'), join(own, 'gone'));
    assert.match(await whyNot('gone'), /name "mine" must match the last path segment "gone"/);
    await rm(join(own, 'gone'), { recursive: true });
    assert.deepEqual(await names(), ['given', 'other']);
    recordProof('A12:changes-seen-without-a-restart');
  });

  it('one of the operator takes no place of a shipped one that was not named, and that is told', async () => {
    await add('other', manifest('other', 'Mine'));
    const { origin, description } = await skills.find('other');
    assert.deepEqual([origin, description], ['shipped', 'About other']);
    assert.match(await whyNot('other'), /comes with Workcrate.*--replace-skills other/);
    assert.ok(logged.some((line) => line.includes('skills.left_out') && line.includes('--replace-skills')));
    await rm(join(own, 'other'), { recursive: true });
    recordProof('A12:shipped-not-replaced-silently');
  });

  it('a folder of skills or tools that is a link is not read', async () => {
    const elsewhere = join(folder, 'elsewhere');
    await write(join(elsewhere, 'secret', 'SKILL.md'), manifest('secret'));
    await write(join(elsewhere, 'key.py'), "'A key.'");
    const linked = join(folder, 'linked');
    await symlink(elsewhere, linked);
    const log = createLog('off');
    const room = createSkills({ own: linked, shipped, tools: linked, replaceable: [], runProgram, log });
    const list = await room.list();
    assert.deepEqual(
      list.skills.map(({ name }) => name),
      ['given', 'other'],
    );
    assert.match(list.broken[0]!.reason, /--skills-path: .*it is a link.*Name a plain folder/);
    assert.deepEqual(await room.listTools(), []);
    await assert.rejects(room.document('/tools/key.py', request), /--tools-path: .*it is a link/);
    const none = createSkills({ own: null, shipped, tools: null, replaceable: [], runProgram, log });
    assert.deepEqual((await none.list()).broken, []);
    assert.deepEqual(await none.listTools(), []);
  });

  it('one of the operator is used instead of a shipped one that was named, unless it is broken', async () => {
    await add('given', manifest('given', 'Mine'));
    const { description, origin, replacesShipped, folderInRuns } = await skills.find('given');
    assert.deepEqual(
      [description, origin, replacesShipped, folderInRuns],
      ['Mine', 'own', true, '/skills/given'],
    );
    const other = await skills.find('other');
    assert.deepEqual([other.origin, other.replacesShipped, other.folderInRuns], ['shipped', false, null]);
    await add('given', 'no front matter');
    assert.equal((await skills.find('given')).origin, 'shipped');
    assert.match(await whyNot('given'), /frontmatter/);
    await rm(join(own, 'given'), { recursive: true });
    recordProof('A12:own-skills-before-shipped');
  });

  it('each that is broken is reported with its reason, and the others work', async () => {
    await add('fine');
    await add('latin', Buffer.from(manifest('latin', 'caf\xe9'), 'latin1') as unknown as string);
    await add('no-front', '# Only text');
    await add('no-end', '---\nname: no-end\n');
    await add('no-name', '---\ndescription: x\n---\n');
    await add('bad-yaml', '---\nname: [bad\ndescription: x\n---\n');
    await add('Not-Lower');
    await add('clash', manifest('fine'));
    await add('long', manifest('long', 'x'.repeat(1025)));
    await mkdir(join(own, 'empty'));
    await write(join(own, 'case', 'skill.md'), manifest('case'));
    await symlink(join(own, 'fine'), join(own, 'linked'));
    await add('inner-link');
    await symlink('/etc/passwd', join(own, 'inner-link', 'passwd'));
    await mkdir(join(own, 'manifest-link'));
    await symlink('/etc/passwd', join(own, 'manifest-link', 'SKILL.md'));
    await add('huge');
    await write(join(own, 'huge', 'data.bin'), '');
    await truncate(join(own, 'huge', 'data.bin'), 1024 ** 3);
    await mkdir(join(own, 'huge-manifest'));
    await write(join(own, 'huge-manifest', 'SKILL.md'), '');
    await truncate(join(own, 'huge-manifest', 'SKILL.md'), 1024 ** 3);
    await add('many');
    for (let at = 0; at < 10_000; at++) await writeFile(join(own, 'many', `${at}.txt`), '');
    await write(join(own, 'deep', ...Array.from({ length: 20 }, () => 'x'), 'a.txt'), 'a');
    await add('deep');
    await add('odd-name');
    await writeFile(Buffer.concat([Buffer.from(join(own, 'odd-name', 'x')), Buffer.from([0xff])]), 'x');
    await write(join(own, 'SKILL.md'), manifest('own'));
    await write(join(own, 'README.md'), 'Not a skill.');
    await write(join(own, '.git', 'config'), 'hidden');
    const reasons: [string, RegExp][] = [
      ['latin', /not valid UTF-8/],
      ['no-front', /must begin with a "---" line/],
      ['no-end', /no closing "---" line/],
      ['no-name', /"name" and "description"/],
      ['bad-yaml', /frontmatter/],
      ['Not-Lower', /lowercase letters/],
      ['clash', /name "fine" must match/],
      ['long', /1-1024 characters/],
      ['empty', /no SKILL\.md/],
      ['case', /Rename skill\.md/],
      ['linked', /is a link/],
      ['inner-link', /passwd is a link/],
      ['manifest-link', /SKILL\.md is a link/],
      ['huge', /1 GB.*16 MB/],
      ['huge-manifest', /1 GB.*16 MB/],
      ['many', /more than 512 files/],
      ['deep', /more than 16 deep/],
      ['odd-name', /not UTF-8/],
      ['SKILL.md', /folder of its own/],
    ];
    assert.deepEqual(await names(), ['fine', 'given', 'other']);
    for (const [name, why] of reasons) assert.match(await whyNot(name), why, name);
    assert.equal((await skills.list()).broken.length, reasons.length);
    await assert.rejects(skills.find('huge'), { code: 'not_found', message: /cannot be used: .*1 GB/ });
    const told = logged.filter((line) => line.includes('"skills.left_out"'));
    assert.ok(reasons.every(([name]) => told.some((line) => line.includes(`"name":"${name}"`))));
    // Nothing has changed, so nothing is told again.
    await skills.list();
    assert.equal(logged.filter((line) => line.includes('"skills.left_out"')).length, told.length);
    recordProof('A12:broken-is-reported-and-stops-no-other');
  });

  it('more skills than a list has room for are told, and so is a folder that cannot be read', async () => {
    const many = join(folder, 'crowd');
    for (let at = 0; at < 201; at++) {
      const name = `s${String(at).padStart(3, '0')}`;
      await write(join(many, name, 'SKILL.md'), manifest(name));
    }
    const log = createLog('off');
    const crowd = await createSkills({ own: many, shipped, tools, replaceable: [], runProgram, log }).list();
    assert.equal(crowd.skills.length, 202);
    assert.deepEqual(
      crowd.broken.map(({ name }) => name),
      ['s200'],
    );
    if (process.getuid?.() === 0) return;
    await chmod(many, 0);
    assert.match(
      (await createSkills({ own: many, shipped, tools, replaceable: [], runProgram, log }).list()).broken[0]!
        .reason,
      /permission/,
    );
    await chmod(many, 0o700);
  });

  it('files of a skill are read by their own names, whatever these are, and no others', async () => {
    const odd = ['__proto__', 'constructor', '100%25.txt', 'a b&c#d?.md', 'ü/😀.txt', '..x'];
    await add('odd');
    for (const path of odd) await write(join(own, 'odd', path), `of ${path}`);
    await write(join(own, 'odd', '.secret'), 'hidden');
    for (const path of odd.filter((one) => !one.startsWith('.')))
      assert.equal((await skills.read('odd', path)).bytes.toString(), `of ${path}`, path);
    const { entry } = await skills.find('odd');
    assert.equal(entry.resources.length, odd.length);
    for (const path of [
      '.secret',
      '..x',
      '../fine/SKILL.md',
      '/etc/passwd',
      './SKILL.md',
      'none',
      '',
      'SKILL.md/',
    ])
      await assert.rejects(
        skills.read('odd', path),
        { code: 'not_found', message: /It has: .*SKILL\.md/ },
        path,
      );
    for (const name of ['..', '.', '', '../own/odd', 'none'])
      await assert.rejects(skills.read(name, 'SKILL.md'), { code: 'not_found' }, name);
  });

  it('documentation is read from files in /tools and in skills, and from nowhere else', async () => {
    await write(
      join(tools, 'plot.py'),
      '"""Plots."""\ndef bar(values):\n    """Draws bars."""\nraise SystemExit\n',
    );
    await write(join(tools, 'sub', 'more.ts'), '/** Adds. */\nexport function add(a: number) {}\n');
    await write(join(tools, 'data.csv'), 'a,b');
    await write(join(tools, 'binary.py'), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1]));
    await write(join(tools, 'latin.py'), Buffer.from('"caf\xe9"', 'latin1'));
    await write(join(tools, 'broken.py'), 'def fine():\n    "Fine."\ndef f(:\n');
    await write(join(tools, 'large.py'), '');
    await truncate(join(tools, 'large.py'), 50 * 1024 ** 2);
    await symlink('/etc/hostname', join(tools, 'link.py'));
    await symlink('/etc', join(tools, 'linked'));
    await mkdir(join(tools, 'folder.py'));
    await write(join(own, 'fine', 'helper.py'), 'def help_me():\n    "Helps."\n');
    const listed = await skills.listTools();
    assert.deepEqual(
      listed.map(({ file, summary }) => [file, summary]),
      [
        ['/tools/binary.py', ''],
        ['/tools/broken.py', ''],
        ['/tools/large.py', ''],
        ['/tools/latin.py', ''],
        ['/tools/plot.py', 'Plots.'],
        ['/tools/sub/more.ts', ''],
      ],
    );
    for (const file of ['plot.py', '/tools/plot.py', './plot.py']) {
      const { module, items } = await document(file);
      assert.deepEqual([module, items[0]?.doc], ['Plots.', 'Draws bars.']);
    }
    assert.equal((await document('sub/more.ts')).items[0]?.doc, 'Adds.');
    assert.equal((await document('/skills/fine/helper.py')).items[0]?.doc, 'Helps.');
    const broken = await document('broken.py');
    assert.deepEqual([broken.items[0]?.doc, broken.problem?.startsWith('Line 3:')], ['Fine.', true]);
    const refused: [string, string][] = [
      ['../own/fine/helper.py', 'path_refused'],
      ['/etc/x.py', 'path_refused'],
      ['/tools/../own/fine/helper.py', 'path_refused'],
      ['/tools//etc/x.py', 'path_refused'],
      ['%2e%2e/own/fine/helper.py', 'path_refused'],
      ['sub\\..\\x.py', 'path_refused'],
      ['a\0.py', 'path_refused'],
      ['link.py', 'path_refused'],
      ['linked/x.py', 'path_refused'],
      ['folder.py', 'path_refused'],
      ['none.py', 'not_found'],
      ['/skills/fine/../../tools/plot.py', 'not_found'],
      ['/skills/none/x.py', 'not_found'],
      ['/skills/inner-link/passwd', 'not_found'],
      ['large.py', 'too_large'],
      ['binary.py', 'unsupported'],
      ['latin.py', 'unsupported'],
      ['data.csv', 'unsupported'],
      ['/etc/passwd', 'unsupported'],
    ];
    for (const [file, code] of refused) await assert.rejects(document(file), { code }, file);
    recordProof('A12:docstring-paths-stay-inside');
  });
});

it('those that are shipped are whole', async () => {
  const none = join(tmpdir(), 'workcrate-no-such-folder');
  const { skills, broken } = await createSkills({
    own: none,
    shipped: shippedSkillsFolder,
    tools: none,
    replaceable: [],
    runProgram,
    log: createLog('off'),
  }).list();
  assert.deepEqual(broken, []);
  assert.deepEqual(
    skills.map(({ name }) => name),
    ['analyse-data', 'find-and-reuse-crate', 'make-reproducible', 'write-report'],
  );
  // A check of the conformance suite looks for a folder in the first one.
  assert.ok(skills[0]!.files.some(({ path }) => path.includes('/')));
});
