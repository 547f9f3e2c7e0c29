import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { it } from 'node:test';

const sources = resolve(import.meta.dirname, '../..');

/** Ways to make a request that go around bounded-fetch.ts. */
const requestForms = [
  /(?<![.\w])(?:globalThis\.)?fetch\s*\(/,
  /\bimport\s+(?!type\b)(?:\*\s+as\s+)?\w[^;]*from 'node:(?:https?|http2|tls)'/,
  /\bimport\s[^;]*\b(?:request|get|connect|createConnection)\b[^;]*from 'node:(?:https?|http2|net|tls)'/,
  /['"]undici['"]|\bnew (?:WebSocket|EventSource)\b/,
];

/** A file that has to make requests of its own says why in such a comment. */
const exception = /^\/\/ outbound: (.+)$/m;

/** `fetch` is also what handlers of requests that come in are called. */
const declaration = /^\s*(?:async )?fetch\(.*\)(?::.*[;{]| \{)$/gm;

const makesRequests = (source: string): boolean =>
  requestForms.some((form) => form.test(source.replaceAll(declaration, '')));

it('tells a request from what only looks like one', () => {
  const planted = [
    "const answer = await fetch('https://example.org');",
    'void globalThis.fetch(url);',
    '    fetch(url);',
    "import { request } from 'node:https';",
    "import {\n  type IncomingMessage,\n  request as ask,\n} from 'node:http';",
    "import https from 'node:https';",
    "import http, { type IncomingMessage } from 'node:http';",
    "import * as http from 'node:http';",
    "import { connect } from 'node:net';",
    "import { fetch } from 'undici';",
    'new WebSocket(url);',
  ];
  for (const source of planted) assert.ok(makesRequests(source), source);
  const harmless = [
    "import type { IncomingMessage } from 'node:http';",
    "import { Server } from 'node:http';",
    'return mcp.fetch(request);',
    '  fetch(request: Request, owner: string | null): Promise<Response>;',
    '    async fetch(request, who) {',
    "import { isIP } from 'node:net';",
    'prefetch(url);',
    "span('http.request.method');",
  ];
  for (const source of harmless) assert.ok(!makesRequests(source), source);
});

it('requests go out through bounded-fetch.ts alone, or the file says why not', () => {
  const files = globSync('**/*.ts', { cwd: sources }).filter(
    // What runs in a browser asks from there.
    (path) => !/\.(?:test|testing|contract|browser)\.ts$/.test(path) && basename(path) !== 'bounded-fetch.ts',
  );
  const asking = files
    .map((path) => ({ path, source: readFileSync(resolve(sources, path), 'utf8') }))
    .filter(({ source }) => makesRequests(source))
    .map(({ path, source }) => ({ path, reason: exception.exec(source)?.[1] ?? null }));
  const unexplained = asking.filter(({ reason }) => reason === null).map(({ path }) => path);
  assert.deepEqual(unexplained, [], 'use fetchBounded of net/bounded-fetch.ts');
  // A new reason has to be added here, so that somebody thinks about it.
  assert.deepEqual(
    new Set(asking.map(({ reason }) => reason)),
    new Set([
      'a server behind the gateway streams its answers for as long as a call lasts',
      'an object store streams both ways for hours, on connections of its own that are kept and counted',
      'it carries what code in a sandbox asks for, in both directions, to addresses that were judged',
      'the Docker engine is at a unix socket, and runs take over its connections',
    ]),
  );
});
