#!/usr/bin/env node
// Only what Node 12 can read: an old Node must get this far to be told.
const needed = 26;
const found = process.versions.node;

if (Number(found.split('.')[0]) >= needed) void import('./start.js');
else {
  const command = process.argv[2] || 'serve';
  process.stderr.write(
    `workcrate: this is Node ${found}, and workcrate needs Node ${needed}. ` +
      `Get it with \`npm install --global node@${needed}\`, ` +
      `or run \`npx -p node@${needed} -p workcrate workcrate ${command}\`.\n`,
  );
  process.exitCode = 1;
}
