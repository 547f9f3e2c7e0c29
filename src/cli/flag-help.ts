/** The help of flags that several commands take. */
import type { FlagHelp } from './command-help.ts';

export const jsonFlag: FlagHelp = { flag: '--json', help: 'print JSON, for programs' };

/** For commands that ask a running server. */
const usualServer = 'the one that uses the data folder';
export const serverFlag: FlagHelp = { flag: '--url URL', help: 'the server to ask', usual: usualServer };

export const makeKeyFlag = (whose: string): FlagHelp => ({
  flag: '--key KEY',
  help: `${whose}; WORKCRATE_KEY is safer, since other users can see the command line`,
});
