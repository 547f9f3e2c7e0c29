/** `workcrate ask`, as a feature in a package of its own. It is no part of a server. */
import { defineFeature, makeKeyFlag, serverFlag } from 'workcrate/feature';
import { askSettings } from './settings.ts';

export default defineFeature({
  name: 'ask',
  settings: askSettings,
  commands: {
    ask: {
      after: 'call',
      takes: 'REQUEST',
      summary:
        'Have a model work on a request with the tools of a server, and print its answer and the links. It needs an OpenAI-compatible endpoint. The exit code is 1 if it failed, and 130 if it was cancelled.',
      flags: [
        {
          flag: '--file PATH',
          help: 'send this file to the server before; may be given several times',
          isList: true,
        },
        {
          flag: '--yes[=GLOB]',
          help: 'make calls that change or destroy something without asking: all, or of tools that fit',
          isList: true,
        },
        { flag: '--steps COUNT', help: 'how often the model may be asked, up to 200', usual: '25' },
        {
          flag: '--temperature NUMBER',
          help: 'from 0 to 1; a little more after a malformed call',
          usual: '0.7',
        },
        { flag: '--json', help: 'print one JSON document at the end, for programs' },
        {
          flag: '-o, --output FOLDER',
          help: 'save what the links lead to; without a running server that is a new folder workcrate-files in this one',
        },
        {
          ...serverFlag,
          usual: 'the one that uses the data folder, else one is started for this request',
        },
        makeKeyFlag('your key'),
      ],
      settings: ['endpoint', 'model', 'apiKey', 'endpointTimeout', 'data', 'host', 'port'],
      examples: [
        "ask 'Plot the columns of this table' --file table.csv --endpoint http://127.0.0.1:11434/v1 --model qwen3",
        "ask 'Which files are there?' --yes=list_* --json",
      ],
      docs: 'docs/guide/ask.md',
      load: async () => (await import('./command.ts')).runAsk,
    },
  },
});
