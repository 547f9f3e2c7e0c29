import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { noSandbox, run, useCodeServer } from '../../code.testing.ts';
import { backends, startServer, type ToolReply } from '../../server.testing.ts';

const hello = { description: 'Says hello', language: 'python', code: 'print("hello")' };

/** Prints `who` of its arguments. */
const readers = {
  python: 'import json, sys\nargs = json.load(sys.stdin)\nprint(args["who"])',
  node: 'const args = JSON.parse(require("fs").readFileSync(0, "utf8"));\nconsole.log(args.who);',
  bash: 'read -r args\npython3 -c \'import json, sys; print(json.loads(sys.argv[1])["who"])\' "$args"',
};

describe(`scripts that are kept, on ${backends}`, () => {
  it('are saved in versions, listed, searched, shown and deleted', async () => {
    await using server = await startServer({ tools: ['default', 'scripts'] });
    const succeed = async (tool: string, input: Record<string, unknown>): Promise<ToolReply> => {
      const reply = await server.call(tool, input);
      assert.equal(reply.failed, false, `${tool}: ${reply.text}`);
      return reply;
    };
    const first = await succeed('save_script', { name: 'greet', ...hello, tags: ['demo', 'demo'] });
    assert.deepEqual([first.data.version, first.data.tags, first.data.size], [1, ['demo'], 14]);
    const code = 'print("hello again")';
    const second = await succeed('save_script', { name: 'greet', ...hello, description: 'Again', code });
    assert.deepEqual([second.data.version, second.data.versions, second.data.latest], [2, 2, 2]);
    assert.equal((await succeed('get_script', { name: 'greet' })).data.code, code);
    const old = await succeed('get_script', { name: 'greet@1' });
    assert.deepEqual([old.data.code, old.data.latest, old.data.all_versions], [hello.code, 2, [1, 2]]);
    assert.match(old.text, /the latest is 2/);
    await succeed('save_script', { name: 'Plot.all-2_x', ...hello, language: 'bash', code: 'echo NEEDLE' });
    const names = async (tool: string, input = {}): Promise<string[]> =>
      (await succeed(tool, input)).data.scripts.map(({ name }: { name: string }) => name).sort();
    assert.deepEqual(await names('list_scripts'), ['Plot.all-2_x', 'greet']);
    for (const [input, found] of [
      [{ text: 'needle' }, ['Plot.all-2_x']],
      [{ text: 'AGAIN' }, ['greet']],
      [{ text: 'plot.' }, ['Plot.all-2_x']],
      [{ text: '%' }, []],
      [{ language: 'python' }, ['greet']],
      [{ tag: 'demo' }, []],
      [{}, ['Plot.all-2_x', 'greet']],
    ] as const)
      assert.deepEqual(await names('search_scripts', input), found, JSON.stringify(input));
    const page = await succeed('list_scripts', { limit: 1 });
    const rest = await succeed('list_scripts', { limit: 1, after: page.data.next });
    assert.deepEqual([page.data.scripts.length, rest.data.scripts.length, rest.data.next], [1, 1, null]);
    assert.notEqual(page.data.scripts[0].name, rest.data.scripts[0].name);
    const gone = await succeed('delete_script', { name: 'greet@2' });
    assert.deepEqual([gone.data.deleted, gone.data.left], [[2], 1]);
    assert.equal((await succeed('get_script', { name: 'greet' })).data.version, 1);
    // A number that a record may name is not given again.
    assert.equal((await succeed('save_script', { name: 'greet', ...hello })).data.version, 3);
    assert.deepEqual((await succeed('delete_script', { name: 'greet' })).data.deleted, [1, 3]);
    assert.equal((await server.call('get_script', { name: 'greet' })).code, 'not_found');
    recordProof('D12:saved-got-listed-searched-and-deleted', 'D12:versions-kept-and-nameable');
  });

  it('names that could be paths, and versions that are not there, are refused with what is allowed', async () => {
    await using server = await startServer({ tools: ['scripts'] });
    await server.call('save_script', { name: 'a', ...hello });
    const names = [
      'a/b',
      '/a',
      '../a',
      '..',
      '.a',
      'a\\b',
      'a b',
      'ä',
      'а',
      'a\u0000',
      '-a',
      '',
      'x'.repeat(65),
    ];
    for (const name of [...names, 'a@0', 'a@-1', 'a@1.5', 'a@@1', 'a@x', 'a@1@2', `a@${'9'.repeat(10)}`])
      for (const tool of ['save_script', 'get_script', 'run_script', 'delete_script']) {
        const { failed, text } = await server.call(tool, { name, ...(tool === 'save_script' ? hello : {}) });
        assert.ok(failed, `${tool} ${name}`);
        assert.match(text, /1 to 64 letters, digits, dots, dashes and underscores/, `${tool} ${name}`);
      }
    assert.equal((await server.call('save_script', { name: 'x'.repeat(64), ...hello })).failed, false);
    const missing = await server.call('get_script', { name: 'a@2' });
    assert.deepEqual([missing.code, /It has: 1\./.test(missing.text)], ['not_found', true], missing.text);
    assert.equal((await server.call('delete_script', { name: 'a@2' })).code, 'not_found');
    const refused: [Record<string, unknown>, RegExp][] = [
      [{ code: 'x'.repeat(2 * 1024 ** 2) }, /at most 1 MB/],
      [{ code: '' }, /must not be empty/],
      [{ code: 'print("\u0000")' }, /NUL/],
      [{ language: undefined }, /language/],
      [{ code: undefined }, /code/],
      [{ language: 'perl' }, /language/],
      [{ language: 'bash', packages: ['jq'] }, /python and node/],
      [{ packages: ['pandas>=2'] }, /by its name alone/],
      [{ packages: ['--index-url'] }, /by its name alone/],
      [{ packages: ['https://example.org/x.whl'] }, /by its name alone/],
      [{ packages: ['../x'] }, /by its name alone/],
      [{ tags: ['a\nb'] }, /a tag has/],
      [{ source_execution_id: 'exec_000000000000' }, /No execution of yours/],
      [{ description: 'x'.repeat(1001) }, /description/],
      [{ more: 1 }, /more/],
    ];
    for (const [more, why] of refused) {
      const { failed, text } = await server.call('save_script', { name: 'b', ...hello, ...more });
      assert.ok(failed && why.test(text), text.slice(0, 500));
    }
    const there = (await server.call('list_scripts', {})).data.scripts;
    assert.equal(there.length, 2);
    recordProof('D12:bad-input-refused');
  });

  it('are bounded: scripts of a user, bytes in all, versions of one; nothing half is saved', async () => {
    await using server = await startServer({ tools: ['scripts'], scriptsUser: 2, scriptsUserBytes: 10_000 });
    const save = (name: string, code = '#') => server.call('save_script', { name, ...hello, code });
    assert.equal((await save('a')).failed, false);
    assert.equal((await save('b')).failed, false);
    const third = await save('c');
    assert.equal(third.code, 'quota_exceeded', third.text);
    assert.match(third.text, /2 scripts and 9\.8 KB/);
    assert.equal((await save('a', 'x'.repeat(10_000))).code, 'quota_exceeded');
    assert.equal((await server.call('get_script', { name: 'a' })).data.version, 1);
    assert.equal((await server.call('get_script', { name: 'c' })).code, 'not_found');
    await server.call('delete_script', { name: 'b' });
    assert.equal((await save('c')).failed, false);
    for (let version = 2; version <= 100; version++) assert.equal((await save('c')).data.version, version);
    const more = await save('c');
    assert.ok(more.code === 'quota_exceeded' && /100 versions/.test(more.text), more.text);
    assert.equal((await server.call('get_script', { name: 'c' })).data.versions, 100);
    const many = await Promise.all(Array.from({ length: 8 }, (_, at) => save(`d${at}`)));
    assert.ok(many.every(({ code }) => code === 'quota_exceeded'));
    recordProof('D12:quotas');
  });

  it('saved at once get numbers of their own, and long code is shown in parts', async () => {
    await using server = await startServer({ tools: ['scripts'] });
    const saved = await Promise.all(
      Array.from({ length: 10 }, () => server.call('save_script', { name: 'same', ...hello })),
    );
    assert.deepEqual(
      saved.map(({ data }) => data.version).sort((a, b) => a - b),
      Array.from({ length: 10 }, (_, at) => at + 1),
    );
    const code = `# ${'😀'.repeat(8000)}\nprint(1)`;
    await server.call('save_script', { name: 'long', ...hello, code });
    let [read, from] = ['', 0 as number | null];
    while (from !== null) {
      const { data } = await server.call('get_script', { name: 'long', code_from: from });
      read += data.code;
      from = data.code_next;
    }
    assert.equal(read, code);
  });
});

describe(`runs of scripts, on ${backends}`, { skip: noSandbox }, () => {
  const server = useCodeServer({ tools: ['default', 'scripts'], warmNode: 1 });
  const succeed = async (tool: string, input: Record<string, unknown>): Promise<ToolReply> => {
    const reply = await server().call(tool, input);
    assert.equal(reply.failed, false, `${tool}: ${reply.text}`);
    return reply;
  };
  const save = (name: string, more: Record<string, unknown>) =>
    succeed('save_script', { name, ...hello, ...more });

  it('get their args as JSON in every language, and hostile ones stay data', async () => {
    const hostile = [
      'plain',
      '$(touch /workspace/pwned) `touch /workspace/pwned`; touch /workspace/pwned',
      '"; import os; os.system("touch /workspace/pwned") #',
      "'); require('fs').writeFileSync('/workspace/pwned', '') //",
      'two\nlines\r\n\u2028\u0000 ü 😀 \\ \\n %s',
      '__proto__',
    ];
    for (const [language, code] of Object.entries(readers)) {
      await save(`read-${language}`, { language, code });
      for (const who of hostile) {
        const { data } = await succeed('run_script', { name: `read-${language}`, args: { who } });
        assert.equal(data.stdout.replaceAll('\u2400', '\0'), `${who}\n`, language);
      }
    }
    const { data } = await succeed('execute_bash', { command: 'ls /workspace' });
    assert.doesNotMatch(data.stdout, /pwned/);
    const echo = 'import sys; print(sys.stdin.read(), end="")';
    await save('echo', { code: echo });
    const given = JSON.parse('{"__proto__": {"x": 1}, "constructor": [], "": null, "n": 1e3}');
    const echoed = await succeed('run_script', { name: 'echo', args: given });
    assert.equal(echoed.data.stdout, `${JSON.stringify(given)}\n`);
    assert.equal(
      (await succeed('run_script', { name: 'echo', args: [1, 'two'] })).data.stdout,
      '[1,"two"]\n',
    );
    assert.equal((await succeed('run_script', { name: 'echo' })).data.stdout, '{}\n');
    recordProof('D12:args-in-every-language', 'D12:hostile-args-stay-data');
  });

  it('args that are no object or list, or too much, run nothing', async () => {
    await save('counted', {});
    const nested = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000)) as unknown;
    for (const args of ['{"a":1}', 1, true, null, [['x'.repeat(2 * 1024 ** 2)]], nested]) {
      const { failed } = await server()
        .call('run_script', { name: 'counted', args })
        .catch(() => ({ failed: true }));
      assert.ok(failed, JSON.stringify(args)?.slice(0, 40));
    }
    const unknown = await server().call('run_script', { name: 'counted@7' });
    assert.ok(unknown.code === 'not_found' && /It has: 1\./.test(unknown.text), unknown.text);
    assert.equal((await server().call('run_script', { name: 'none' })).code, 'not_found');
    assert.equal((await succeed('get_script', { name: 'counted' })).data.runs, 0);
  });

  it('answer and are recorded as those of execute_code, with the script in record, journal and crate', async () => {
    const made = await run(server(), 'python', 'import json, sys\nprint(json.load(sys.stdin)["n"] * 2)', {
      stdin: '{"n": 21}',
    });
    const saved = await succeed('save_script', {
      name: 'double',
      description: 'Doubles n',
      source_execution_id: made.execution_id,
    });
    assert.deepEqual([saved.data.language, saved.data.source_execution_id], ['python', made.execution_id]);
    const reply = await succeed('run_script', { name: 'double', args: { n: 4 } });
    assert.deepEqual([reply.data.stdout, reply.data.script], ['8\n', 'double@1']);
    assert.match(reply.text, /^Script double@1\.$/m);
    assert.deepEqual(
      Object.keys(made),
      Object.keys(reply.data).filter((key) => key !== 'script'),
    );
    const { execution_id } = reply.data;
    const record = await succeed('get_execution', { execution_id });
    assert.deepEqual([record.data.tool, record.data.script], ['run_script', 'double@1']);
    assert.match(record.text, /^Script double@1\.$/m);
    const logs = join(server().data, 'logs');
    const lines = readdirSync(logs)
      .filter((name) => name.startsWith('executions-'))
      .flatMap((name) => readFileSync(join(logs, name), 'utf8').split('\n'));
    const line = lines.find((text) => text.includes(execution_id))!;
    assert.equal((JSON.parse(line) as { script: string }).script, 'double@1');
    const packed = await succeed('pack_crate', { execution_id, title: 'Doubled' });
    const file = { crate_id: packed.data.crate_id, path: 'ro-crate-metadata.json' };
    const metadata = await succeed('read_crate_file', file);
    const graph = JSON.parse(metadata.data.text)['@graph'] as Record<string, unknown>[];
    const instrument = graph.find((entity) => entity['identifier'] === 'double@1');
    assert.deepEqual([instrument?.['@id'], instrument?.['version']], ['code/main.py', '1']);
    assert.ok(graph.some(({ name, value }) => name === 'script' && value === 'double@1'));
    recordProof('D12:made-from-an-execution', 'D12:in-record-journal-and-crate');
  });

  it('take a working folder, a time, a session and the background as execute_code does', async () => {
    await save('where', { code: 'import os\nx = globals().get("x", 0) + 1\nprint(os.getcwd(), x)' });
    const there = await succeed('run_script', { name: 'where', working_dir: '/workspace/here' });
    assert.equal(there.data.stdout, '/workspace/here 1\n');
    for (const x of [1, 2]) {
      const { data } = await succeed('run_script', { name: 'where', session_id: 'kept' });
      assert.match(data.stdout, new RegExp(` ${x}\n$`));
      assert.equal(data.session.cell, x);
    }
    const both = { name: 'where', session_id: 'kept', working_dir: '/workspace' };
    assert.equal((await server().call('run_script', both)).code, 'invalid_input');
    await save('slow', { code: 'import time\ntime.sleep(60)' });
    assert.equal((await succeed('run_script', { name: 'slow', timeout_ms: 200 })).data.timed_out, true);
    const { data, text } = await succeed('run_script', { name: 'slow', background: true });
    assert.deepEqual([data.end_reason, data.script], ['running', 'slow@1']);
    assert.match(text, /^Script slow@1\.$/m);
    const under = await succeed('get_script', { name: 'slow' });
    assert.equal(under.data.last_run.outcome, 'running');
    await succeed('cancel_execution', { execution_id: data.execution_id });
    await eventually(
      async () => (await succeed('get_script', { name: 'slow' })).data.last_run.outcome === 'cancelled',
    );
    recordProof('D12:run-options-of-execute-code');
  });

  it('are counted, with the last outcome and its time', async () => {
    const code = 'import json, sys\nsys.exit(json.load(sys.stdin)["code"])';
    await save('ends', { code });
    const look = async () => (await succeed('list_scripts', {})).data.scripts.find(isEnds);
    const isEnds = ({ name }: { name: string }) => name === 'ends';
    assert.deepEqual([(await look()).runs, (await look()).last_run], [0, null]);
    await succeed('run_script', { name: 'ends', args: { code: 0 } });
    await eventually(async () => (await look()).last_run.outcome === 'ok');
    await save('ends', { code: `${code}\n` });
    const failed = await succeed('run_script', { name: 'ends', args: { code: 3 } });
    await eventually(async () => (await look()).last_run.outcome === 'exit code 3');
    const { runs, last_run } = await look();
    assert.deepEqual([runs, last_run.version, last_run.execution_id], [2, 2, failed.data.execution_id]);
    const { data: record } = await succeed('get_execution', { execution_id: failed.data.execution_id });
    assert.equal(last_run.at, record.started_at);
    assert.equal((await succeed('get_script', { name: 'ends@1' })).data.runs_of_version, 1);
    recordProof('D12:runs-counted-with-the-last-outcome');
  });

  it('whose packages are missing are refused before they start, with the list of them', async () => {
    await save('needs', { packages: ['json', 'nowhere-to-be-found', 'no_such_module'] });
    const before = (await succeed('search_executions', { limit: 1 })).data.executions[0].execution_id;
    const { code, text } = await server().call('run_script', { name: 'needs' });
    assert.equal(code, 'packages_missing', text);
    assert.match(
      text,
      /needs@1 needs python packages that are not installed: nowhere-to-be-found, no_such_module\./,
    );
    const js = {
      language: 'node',
      code: 'console.log(1)',
      packages: ['fs', '@none/such', 'lodash-not-here'],
    };
    await save('needs-node', js);
    const node = await server().call('run_script', { name: 'needs-node' });
    assert.match(node.text, /needs node packages that are not installed: @none\/such, lodash-not-here\./);
    const after = (await succeed('search_executions', { limit: 1 })).data.executions[0].execution_id;
    assert.equal(after, before);
    assert.equal((await succeed('get_script', { name: 'needs' })).data.runs, 0);
    await succeed('execute_bash', {
      command: 'mkdir -p node_modules/mine && echo "module.exports = 5" > node_modules/mine/index.js',
    });
    await save('has', { language: 'node', code: 'console.log(require("mine"))', packages: ['mine', 'fs'] });
    assert.equal((await succeed('run_script', { name: 'has' })).data.stdout, '5\n');
    recordProof('D12:missing-packages-refused-before-the-start');
  });

  it('that were lost with their server are told as lost', async () => {
    await save('lost', { code: 'import time\ntime.sleep(60)' });
    await succeed('run_script', { name: 'lost', background: true });
    await server().restart();
    const { data } = await succeed('get_script', { name: 'lost' });
    assert.match(data.last_run.outcome, /^(lost|cancelled)$/);
    assert.equal(data.runs, 1);
  });
});

describe(`scripts in a sandbox without walls, on ${backends}`, () => {
  it('get their args, and are refused for missing packages, as in any other', async () => {
    await using server = await startServer({
      tools: ['scripts'],
      sandbox: 'subprocess',
      allowSandbox: ['subprocess'],
    });
    for (const [language, code] of Object.entries(readers)) {
      await server.call('save_script', { name: language, description: 'Reads', language, code });
      const { data, text } = await server.call('run_script', { name: language, args: { who: '$(id) "' } });
      assert.equal(data?.stdout, '$(id) "\n', text);
    }
    for (const language of ['python', 'node']) {
      const needs = { packages: ['no-such-package'], description: 'Needs', language, code: '1' };
      await server.call('save_script', { name: 'needs', ...needs });
      assert.equal((await server.call('run_script', { name: 'needs' })).code, 'packages_missing', language);
    }
  });
});
