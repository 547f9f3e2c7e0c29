// `workcrate stdio` as a file of its own: a gateway starts what package.json calls `main`, without arguments.
// Only what Node 12 can read, as in workcrate.js.
process.argv.splice(2, 0, 'stdio');
void import('./workcrate.js');
