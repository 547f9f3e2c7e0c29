/** A program with a gateway, for a test that kills it: a server that ends of nothing, and a child of it. */
import { hostile, openTestGateway } from './gateway.testing.ts';

const env = { [process.argv[2]!]: '1' };
const it = await openTestGateway({ mcpServers: { bad: hostile(['--ignores-end'], { env }) } });
await it.call('bad_child');
process.stdout.write('ready\n');
setInterval(() => {}, 1000);
