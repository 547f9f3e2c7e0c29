import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { serve, type Served } from '../behaviour/client-files/servers.testing.ts';
import { connectByHand, type Came } from './by-hand.testing.ts';
import { versions, type Version } from './messages.testing.ts';

const form = { elicitation: { form: {} } };
const url = { elicitation: { url: {} } };
const sampling = { sampling: {} };
const older = ['2025-11-25', '2025-06-18'] as const satisfies readonly Version[];

const codeOf = (last: Came): string | undefined => last['result']?._meta?.['workcrate/error']?.code;

describe('a client that has no stream but that of its call', () => {
  let served: Served;
  before(async () => void (served = await serve('HTTP', { clientTimeout: 60 })));
  after(() => served?.[Symbol.asyncDispose]());

  for (const version of versions)
    it(`is shown the form there, with MCP ${version}`, async () => {
      const client = await connectByHand(served.url, version, form);
      const filled = { result: { action: 'accept', content: { content: 'by hand' } } };
      const path = `docs/form-${version}.txt`;
      const { last, asked } = await client.call('read_client_file', { path, via: 'form' }, () => filled);
      assert.deepEqual(asked, ['elicitation/create']);
      assert.equal(last['result'].structuredContent?.text, 'by hand', JSON.stringify(last));
    });

  for (const version of versions)
    it(`lends its model there, with MCP ${version}`, async () => {
      const client = await connectByHand(served.url, version, sampling);
      const path = `docs/sampled-${version}.txt`;
      const { last, asked } = await client.call('read_client_file', { path, via: 'sampling' }, () => ({
        result: { model: 'm', role: 'assistant', content: { type: 'text', text: 'I cannot.' } },
      }));
      assert.deepEqual(asked, ['sampling/createMessage']);
      assert.equal(codeOf(last), 'client_refused', JSON.stringify(last));
    });

  for (const version of ['2026-07-28', '2025-11-25'] as const)
    it(`is given the page there, with MCP ${version}`, async () => {
      const client = await connectByHand(served.url, version, url);
      const path = `docs/page-${version}.txt`;
      const declined = () => ({ result: { action: 'decline' } });
      const { last, asked } = await client.call('read_client_file', { path, via: 'url' }, declined);
      assert.deepEqual(asked, ['elicitation/create']);
      assert.equal(codeOf(last), 'client_refused', JSON.stringify(last));
    });

  for (const version of versions)
    it(`is asked for its roots there, with MCP ${version}`, async () => {
      const client = await connectByHand(served.url, version, { roots: {} });
      const path = `docs/roots-${version}.txt`;
      const roots = { result: { roots: [{ uri: 'file:///home/ada/project' }] } };
      const { last, asked } = await client.call('read_client_file', { path }, () => roots);
      assert.deepEqual(asked, ['roots/list']);
      assert.equal(last['result'].structuredContent?.status, 'offered', JSON.stringify(last));
    });
});

describe('an answer that does not fit', () => {
  let served: Served;
  before(async () => void (served = await serve('HTTP', { clientTimeout: 60 })));
  after(() => served?.[Symbol.asyncDispose]());

  const unfit: readonly [what: string, capabilities: Record<string, unknown>, result: unknown][] = [
    ['an empty answer to a form', form, {}],
    ['a form with an action that there is not', form, { action: 'yes' }],
    ['a form with a number for the text', form, { action: 'accept', content: { content: 5 } }],
    ['an empty answer to a page', url, {}],
    ['an empty answer to sampling', sampling, {}],
    ['a model that says null', sampling, { model: 'm', role: 'assistant', content: null }],
  ];
  for (const version of older)
    for (const [index, [what, capabilities, result]] of unfit.entries()) {
      if (version === '2025-06-18' && capabilities === url) continue;
      it(`${what} is client_refused, with MCP ${version}`, async () => {
        const client = await connectByHand(served.url, version, capabilities);
        const path = `docs/unfit-${index}-${version}.txt`;
        const via = capabilities === form ? 'form' : capabilities === url ? 'url' : 'sampling';
        const { last } = await client.call('read_client_file', { path, via }, () => ({ result }));
        assert.equal(codeOf(last), 'client_refused', JSON.stringify(last));
      });
    }

  const noRoots: readonly [what: string, result: unknown][] = [
    ['a text', { roots: 'x' }],
    ['nothing', {}],
    ['a root without an address', { roots: [{}] }],
    ['a root that is no file', { roots: [{ uri: 'http://127.0.0.1/y' }] }],
  ];
  for (const version of versions)
    for (const [index, [what, result]] of noRoots.entries())
      it(`who answers ${what} when asked for roots can use the tools, with MCP ${version}`, async () => {
        const client = await connectByHand(served.url, version, { roots: {} });
        const path = `docs/roots-${index}-${version}.txt`;
        const { last } = await client.call('read_client_file', { path }, () => ({ result }));
        assert.equal(last['result'].structuredContent?.status, 'offered', JSON.stringify(last));
      });

  for (const version of versions)
    it(`a root that is no file does not hide the one that is, with MCP ${version}`, async () => {
      const client = await connectByHand(served.url, version, { roots: {} });
      const roots = [{ uri: 'http://127.0.0.1/y' }, { uri: 'file:///home/ada/project' }];
      const path = `/home/ada/project/docs/two-${version}.txt`;
      const { last } = await client.call('read_client_file', { path }, () => ({ result: { roots } }));
      assert.equal(last['result'].structuredContent?.status, 'offered', JSON.stringify(last));
    });
});
