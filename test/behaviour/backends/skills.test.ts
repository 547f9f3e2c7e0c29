import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { backends, startServer, type TestServer } from '../../server.testing.ts';

const guide = '---\nname: team-guide\ndescription: How this team works\n---\n\nAsk first.\n';
/** Whoever runs it leaves a trace. */
const tool = `"""Counts words."""
open("/tmp/workcrate-docstring-ran", "w")

def count(text: str, *, case: bool = False) -> int:
    """Counts the words of a text.

    case: whether case matters.
    """
    return len(text.split())

class Counter:
    def add(self, word):
        "Adds one."
`;

describe(`skills and tools of the operator, on ${backends}`, () => {
  let folder: string;
  let server: TestServer;
  const write = async (path: string, content: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  };
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'workcrate-operator-'));
    await write('skills/team-guide/SKILL.md', guide);
    await write('skills/team-guide/notes/more.md', 'More to read.');
    await write('skills/broken/SKILL.md', 'nothing');
    await write('tools/words.py', tool);
    server = await startServer({
      skillsPath: join(folder, 'skills'),
      toolsPath: join(folder, 'tools'),
      ...(noSandbox === false ? { sandbox: 'bubblewrap', warmPython: 0, warmNode: 0, warmBash: 1 } : {}),
    });
  });
  after(async () => {
    await server?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  it('are listed and read by tools', async () => {
    const { data, text } = await server.call('list_skills', {});
    const own = data.skills.find(({ name }: { name: string }) => name === 'team-guide');
    assert.deepEqual([own.origin, own.folder_in_runs, own.files], ['own', '/skills/team-guide', 2]);
    assert.deepEqual(data.tools, [{ file: '/tools/words.py', size: tool.length, summary: 'Counts words.' }]);
    assert.match(text, /^team-guide \(own; in runs \/skills\/team-guide; 2 files\): "How this team works"$/m);
    assert.match(text, /^Left out: broken \(own\), since "SKILL\.md frontmatter: /m);
    const read = await server.call('read_skill', { name: 'team-guide' });
    assert.equal(read.data.text, guide);
    assert.ok(read.text.endsWith('Ask first.'));
    assert.match(read.text, /Other files, for read_skill with file: notes\/more\.md \(13 bytes\)/);
    const more = await server.call('read_skill', { name: 'team-guide', file: 'notes/more.md' });
    assert.equal(more.data.text, 'More to read.');
    for (const input of [
      { name: 'none' },
      { name: 'broken' },
      { name: '../skills/team-guide' },
      { name: 'team-guide', file: '../../tools/words.py' },
      { name: 'team-guide', file: '/etc/passwd' },
      { name: 'team-guide', file: 'none' },
    ])
      assert.equal((await server.call('read_skill', input)).code, 'not_found', JSON.stringify(input));
    recordProof('A12:list-skills-and-read-skill');
  });

  it('are given over HTTP, with errors as JSON', async () => {
    const get = async (path: string) => {
      const answer = await fetch(`${server.url}${path}`);
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    const listed = await get('/skills');
    assert.deepEqual(listed.body, (await server.call('list_skills', {})).data);
    const one = await get('/skills/team-guide');
    assert.deepEqual(one.body, (await server.call('read_skill', { name: 'team-guide' })).data);
    const more = await get('/skills/team-guide?file=notes%2Fmore.md');
    assert.equal(more.body['text'], 'More to read.');
    for (const path of ['none', '..%2ftools', 'team-guide?file=..%2f..%2ftools%2fwords.py', '%00', '%ff']) {
      const { status, body } = await get(`/skills/${path}`);
      assert.deepEqual([status, body['code']], [404, 'not_found'], path);
    }
    recordProof('A12:http-routes');
  });

  it('documentation is read without running the file', async () => {
    const all = await server.call('read_docstring', { file: '/tools/words.py' });
    assert.deepEqual(
      [all.data.module, all.data.items.map(({ name, doc }: Record<string, string>) => [name, doc])],
      [
        'Counts words.',
        [
          ['count', 'Counts the words of a text.'],
          ['Counter', ''],
          ['Counter.add', 'Adds one.'],
        ],
      ],
    );
    const one = await server.call('read_docstring', { file: 'words.py', function: 'count' });
    assert.match(one.text, /^def count\(text: str, \*, case: bool = False\) -> int$/m);
    assert.match(one.text, /^ {2}case: whether case matters\.$/m);
    const method = await server.call('read_docstring', { file: 'words.py', function: 'add' });
    assert.equal(method.data.items[0].name, 'Counter.add');
    const none = await server.call('read_docstring', { file: 'words.py', function: 'other' });
    assert.ok(
      none.code === 'not_found' && /It has: count, Counter, Counter\.add\./.test(none.text),
      none.text,
    );
    assert.equal(existsSync('/tmp/workcrate-docstring-ran'), false);
    await symlink('/etc/hostname', join(folder, 'tools', 'link.py'));
    await write('tools/large.py', '');
    await truncate(join(folder, 'tools', 'large.py'), 50 * 1024 ** 2);
    for (const [file, code] of [
      ['../skills/team-guide/SKILL.py', 'path_refused'],
      ['/etc/x.py', 'path_refused'],
      ['link.py', 'path_refused'],
      ['large.py', 'too_large'],
      ['/tools/none.py', 'not_found'],
      ['/etc/passwd', 'unsupported'],
    ] as const)
      assert.equal((await server.call('read_docstring', { file })).code, code, file);
    recordProof('A12:docstrings-without-running');
  });

  it('changes are seen at once, by tools and in runs', async () => {
    await write('skills/later/SKILL.md', '---\nname: later\ndescription: New\n---\n');
    await write('skills/later/helper.py', 'print("from a skill")\n');
    assert.equal((await server.call('read_skill', { name: 'later' })).failed, false);
    if (noSandbox !== false) return;
    const { data } = await server.call('execute_bash', {
      command:
        'python3 /skills/later/helper.py; python3 -c "import sys; sys.path.append(\'/tools\'); import words" 2>&1 | tail -1',
    });
    assert.match(data.stdout, /^from a skill\n/);
    await rm(join(folder, 'skills', 'later'), { recursive: true });
    assert.equal((await server.call('read_skill', { name: 'later' })).code, 'not_found');
    recordProof('A12:changes-seen-without-a-restart');
  });
});
