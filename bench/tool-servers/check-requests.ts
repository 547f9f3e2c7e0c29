/** Checks the table of requests against the names of the tools. It prints and compares names only, no texts. */
import { readDefinitions } from './read-definitions.ts';
import { partOf, readRequests } from './requests.ts';

const { tools, failures } = await readDefinitions();
const known = new Set(tools.map(({ server, nameThere }) => `${server}/${nameThere}`));
const left = new Set(failures.map(({ server }) => server));
const problems: string[] = failures.map(({ server, reason }) => `left out: ${server}: ${reason}`);
const seen = new Set<string>();
const asked = new Set<string>();

for (const part of ['tuned', 'held-out'] as const) {
  const requests = readRequests(part);
  const servers = new Set<string>();
  for (const one of requests) {
    const { request, expected } = one;
    if (partOf(one) !== part) problems.push(`belongs in the other file: ${request}`);
    if (seen.has(request)) problems.push(`asked twice: ${request}`);
    seen.add(request);
    for (const tool of expected) {
      const server = tool.split('/')[0]!;
      servers.add(server);
      asked.add(tool);
      if (!known.has(tool) && !left.has(server)) problems.push(`no such tool: ${tool}: ${request}`);
      if (
        request.toLowerCase().includes(
          tool
            .slice(server.length + 1)
            .toLowerCase()
            .replaceAll(/[_-]/g, ' '),
        )
      )
        console.log(`says the tool's name: ${tool}: ${request}`);
    }
  }
  const lacking = [...new Set(tools.map(({ server }) => server))].filter((server) => !servers.has(server));
  if (lacking.length > 0) problems.push(`${part} has no request for ${lacking.join(', ')}`);
  console.log(`${part}: ${requests.length} requests for ${servers.size} servers`);
}
console.log(`${asked.size} of ${known.size} tools are asked for`);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
