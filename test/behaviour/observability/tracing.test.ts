import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { patienceMs } from '../../../src/platform/eventually.testing.ts';
import { fromSource, run as runProgram, serve, temporaryFolder } from '../cli/program.testing.ts';
import { noSandbox, run } from '../../code.testing.ts';
import { share, startServer } from '../../server.testing.ts';
import { collectSpans } from './spans.testing.ts';

type Spans = ReturnType<typeof collectSpans>;

/** A request ends for the client a moment before its span does. */
async function soon(spans: Spans, name: string): Promise<ReadableSpan> {
  for (const end = performance.now() + patienceMs; performance.now() < end;) {
    const found = spans.named(name).at(-1);
    if (found !== undefined) return found;
    await pause(20);
  }
  throw new Error(
    `no span ${name} among ${spans
      .all()
      .map((span) => span.name)
      .join(', ')}`,
  );
}

/** The names of a span and of those around it, from the inside out. */
function around(spans: Spans, span: ReadableSpan): string[] {
  const parent = spans.all().find((one) => one.spanContext().spanId === span.parentSpanContext?.spanId);
  return [span.name, ...(parent === undefined ? [] : around(spans, parent))];
}

it('a request is a span of the trace that its traceparent names', async () => {
  await using spans = collectSpans();
  await using server = await startServer({ tracing: true });
  const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
  const headers = { traceparent: `00-${traceId}-${spanId}-01`, 'X-Request-Id': 'r-1' };
  await fetch(`${server.url}/readyz`, { headers });
  const span = await soon(spans, 'GET /readyz');
  assert.equal(span.spanContext().traceId, traceId);
  assert.equal(span.parentSpanContext?.spanId, spanId);
  assert.equal(span.kind, SpanKind.SERVER);
  assert.deepEqual(span.attributes, {
    'http.request.method': 'GET',
    'http.route': '/readyz',
    'http.response.status_code': 200,
    'workcrate.request': 'r-1',
  });
});

it('a traceparent that is none begins a trace of its own', async () => {
  await using spans = collectSpans();
  await using server = await startServer({ tracing: true });
  const wrong = [
    '',
    'x',
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `ff-${'1'.repeat(32)}-b7ad6b7169203331-01`,
  ];
  for (const traceparent of wrong) {
    spans.reset();
    await fetch(`${server.url}/livez`, { headers: { traceparent } });
    assert.equal((await soon(spans, 'GET /livez')).parentSpanContext, undefined, traceparent);
  }
});

it('database and storage calls of an upload and a download are spans within their requests', async () => {
  await using spans = collectSpans();
  await using server = await startServer({ tracing: true });
  const { downloadUrl } = await share(server, 'hello');
  await (await fetch(downloadUrl)).text();
  await soon(spans, 'GET /files/{token}');
  const commit = await soon(spans, 'storage staging.commit');
  assert.deepEqual(around(spans, commit), ['storage staging.commit', 'PUT /uploads/{token}']);
  const insert = spans
    .named('database INSERT')
    .find((span) => /INTO files/.test(String(span.attributes['db.query.text'])));
  assert.deepEqual(around(spans, insert!), [
    'database INSERT',
    'database transaction',
    'PUT /uploads/{token}',
  ]);
  const open = await soon(spans, 'storage open');
  assert.deepEqual(around(spans, open), ['storage open', 'GET /files/{token}']);
  const tool = await soon(spans, 'tool share_file');
  assert.deepEqual(around(spans, tool), ['tool share_file', 'POST /mcp']);
});

it('a run is a span with its stages', { skip: noSandbox }, async () => {
  await using spans = collectSpans();
  await using server = await startServer({
    tracing: true,
    sandbox: 'bubblewrap',
    warmNode: 0,
    warmPython: 0,
  });
  spans.reset();
  await run(server, 'bash', 'echo hello; exit 3');
  const ran = await soon(spans, 'sandbox run');
  assert.deepEqual(around(spans, ran), ['sandbox run', 'execution', 'tool execute_code', 'POST /mcp']);
  assert.deepEqual([ran.attributes['workcrate.reason'], ran.attributes['workcrate.exit_code']], ['exit', 3]);
  const start = await soon(spans, 'sandbox start');
  assert.equal(start.attributes['workcrate.sandbox'], 'bubblewrap');
  assert.equal((await soon(spans, 'execution')).attributes['workcrate.reason'], 'exit');
  const rows = spans.named('database INSERT').map((span) => String(span.attributes['db.query.text']));
  assert.ok(rows.some((sql) => /INTO executions/.test(sql)));
});

it('no attribute holds a token, a name, code, or a path that was sent', async () => {
  await using spans = collectSpans();
  await using server = await startServer({ tracing: true });
  const { downloadUrl, token } = await share(server, 'S3cr3tBytes', { filename: 'S3cr3tName.txt' });
  await (
    await fetch(`${downloadUrl}?x=S3cr3tQuery`, { headers: { Authorization: 'Bearer S3cr3tKey' } })
  ).text();
  for (const path of [
    'S3cr3tPath',
    'S3cr3tUser/artifacts/S3cr3tName',
    `files/${token}/x`,
    'executions/S3cr3tId',
  ])
    await fetch(`${server.url}/${path}`, { method: 'POST', body: 'S3cr3tBody' });
  await server.call('share_file', { file_id: 'S3cr3tId' });
  await soon(spans, 'tool request_upload');
  await soon(spans, 'POST other');
  const told = JSON.stringify(
    spans.all().map(({ name, attributes, events, status }) => [name, attributes, events, status]),
  );
  assert.doesNotMatch(told, /S3cr3t/);
  assert.ok(!told.includes(token));
});

it('what is the fault of the server marks its span, what is the fault of the caller does not', async () => {
  await using spans = collectSpans();
  await using server = await startServer({ tracing: true });
  await server.call('share_file', { file_id: `file_${'0'.repeat(24)}` });
  const span = await soon(spans, 'tool share_file');
  assert.equal(span.attributes['error.type'], 'not_found');
  assert.equal(span.status.code, SpanStatusCode.UNSET);
});

it('with --tracing and no SDK the server says that spans go nowhere, and works', async () => {
  await using server = await startServer({ tracing: true });
  assert.ok(server.logged.some((line) => line.includes('"tracing.no_sdk"')));
  const { downloadUrl } = await share(server, 'hello');
  assert.equal(await (await fetch(downloadUrl)).text(), 'hello');
});

/** Starts the program with a module that does `act` before a source of ours imports anything of OpenTelemetry. */
const watched = (act: string): string[] => {
  const module = `import { registerHooks } from 'node:module';
    const isOurs = (name, from = '') => name.startsWith('@opentelemetry/') && !from.includes('/node_modules/');
    registerHooks({ resolve(name, context, next) {
      if (isOurs(name, context.parentURL)) { ${act} }
      return next(name, context);
    } });`;
  return [
    fromSource[0]!,
    '--import',
    `data:text/javascript,${encodeURIComponent(module)}`,
    ...fromSource.slice(1),
  ];
};

it('nothing of OpenTelemetry is imported by us unless tracing is on', async () => {
  await using folder = await temporaryFolder();
  const program = watched('process.stderr.write(`imported ${name}`);');
  for (const tracing of [false, true]) {
    await using server = await serve(['--data', folder.path, ...(tracing ? ['--tracing'] : [])], { program });
    await fetch(`${server.url}/readyz`);
    await server.call('list_files', {});
    await server.end('SIGTERM');
    const imported = /imported \S+?(?=\{|\s|$|imported)/.exec(server.output.stderr)?.[0] ?? null;
    assert.equal(imported, tracing ? 'imported @opentelemetry/api' : null);
  }
});

it('--tracing without the package says what to install', async () => {
  await using folder = await temporaryFolder();
  const gone = `throw Object.assign(new Error('gone'), { code: 'ERR_MODULE_NOT_FOUND' });`;
  const { code, stderr } = await runProgram(['serve', '--port', '0', '--tracing', '--data', folder.path], {
    program: watched(gone),
  });
  assert.equal(code, 2);
  assert.match(stderr, /^workcrate: --tracing needs .*npm install @opentelemetry\/api$/m);
});
