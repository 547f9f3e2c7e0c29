import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { noSandbox, useCodeServer } from '../code.testing.ts';
import { backends } from '../server.testing.ts';

describe(`sessions, on ${backends}`, { skip: noSandbox }, () => {
  const server = useCodeServer({ warmNode: 1 });
  const send = async (session_id: string, code: string, more: Record<string, unknown> = {}) => {
    const reply = await server().call('send_to_session', { session_id, code, ...more });
    assert.equal(reply.failed, false, reply.text);
    return reply;
  };

  it('each language keeps what a cell left', async () => {
    for (const [language, first, second, out] of [
      ['python', 'import math\nx = 40\ndef f(n): return n + x', 'print(f(2), math.floor(2.5))', '42 2\n'],
    ] as const) {
      const { data, text, failed } = await server().call('start_session', { language });
      assert.equal(failed, false, text + language);
      const made = await send(data.session_id, first);
      assert.deepEqual([made.data.session.state, made.data.session.cell], ['kept', 1], made.text);
      const used = await send(data.session_id, second);
      assert.equal(used.data.stdout, out, used.text);
      assert.match(used.text, /Session sess_[0-9a-f]{12}, cell 2: state kept\./);
      await server().call('close_session', { session_id: data.session_id });
    }
  });
});
