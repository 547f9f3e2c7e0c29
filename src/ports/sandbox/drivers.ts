/**
 * Small programs that run code as if it were the interpreter's own script, but from the working directory: modules
 * beside it can be imported, and there is no script file (D3). Node's gets the path of a file with the code as its first
 * argument, and as its second the folder that is /tools, where that is elsewhere. Backends give them to `python3 -c` and `node -e`; bash takes the file as it is.
 */

/**
 * Python runs the same modules everywhere; the first argument is the folder with them. What to do comes on descriptor 3,
 * reports go to 4.
 */
export const pythonStarter = `
import sys
sys.path.insert(0, sys.argv[1])
from workcrate_inside.python import run_python
del sys.path[0]
run_python(3)
`;

/**
 * Code with \`import\`, \`export\` or \`await\` at its top level is an ES module, all other CommonJS. That is
 * found out by compiling, as Node does for files.
 */
export const nodeDriver = `
{
  const { readFileSync } = require('node:fs');
  const { Module, registerHooks } = require('node:module');
  const { join } = require('node:path');
  const { pathToFileURL } = require('node:url');
  const source = readFileSync(process.argv[1], 'utf8');
  const filename = join(process.cwd(), 'main.js');
  const tools = process.argv[2];
  if (tools !== undefined)
    registerHooks({
      resolve: (name, context, next) => next(name.startsWith('/tools/mcp/') ? tools + name.slice(6) : name, context),
    });
  process.argv = [process.argv[0], filename];
  const moduleSyntax = /outside a module|Unexpected token 'export'|await is only valid|reserved word|missing \\) after argument list|Unexpected identifier/;
  const isModule = () => {
    try {
      require('node:vm').compileFunction(source, ['exports', 'require', 'module', '__filename', '__dirname'], { filename });
      return false;
    } catch (error) {
      return error instanceof SyntaxError && /\\b(?:import|export|await)\\b/.test(source) && moduleSyntax.test(error.message);
    }
  };
  if (isModule()) {
    const url = pathToFileURL(filename).href;
    const hooks = registerHooks({
      resolve: (name, context, next) => (name === url ? { url, format: 'module', shortCircuit: true } : next(name, context)),
      load: (at, context, next) => (at === url ? { source, format: 'module', shortCircuit: true } : next(at, context)),
    });
    let settled = false;
    import(url).then(() => void (settled = true));
    process.once('beforeExit', () => {
      if (settled) return;
      console.error('Warning: Detected unsettled top-level await');
      process.exitCode ??= 13;
    });
    setImmediate(() => hooks.deregister());
  } else {
    const main = new Module(filename, null);
    main.filename = filename;
    main.paths = Module._nodeModulePaths(process.cwd());
    process.mainModule = require.main = main;
    main._compile(source, filename, 'commonjs');
    main.loaded = true;
  }
}
`;
