import type { ClientCapabilities } from '@modelcontextprotocol/server';
import type { Rung } from '../client-file.ts';
import type { Errand } from './errand.ts';

/** What can come by a form, or by a model that types it. */
export const mostTyped = 64 * 1024;

export interface Footing {
  readonly capabilities: ClientCapabilities;
  /** Whether this process can read the client's project itself, and knows where it is. */
  readonly sharesProject: boolean;
}

/** Whether a rung can bear an errand at all. */
export function bears(rung: Rung, errand: Errand, { capabilities, sharesProject }: Footing): boolean {
  const { elicitation, sampling } = capabilities;
  const isSmall = errand.size === null || errand.size <= mostTyped;
  switch (rung) {
    case 'direct':
      return sharesProject;
    case 'upload':
      return true;
    case 'url':
      return elicitation?.url !== undefined;
    case 'form':
      // Before there were modes, a bare `elicitation` meant forms.
      return elicitation !== undefined && hasForms(elicitation) && !errand.binary && isSmall;
    case 'sampling':
      return sampling !== undefined && isSmall;
  }
}

const hasForms = ({ form, url }: NonNullable<ClientCapabilities['elicitation']>): boolean =>
  form !== undefined || url === undefined;

/** In this order, since a person at a page is surer than a model that retypes a file. */
const asking = ['url', 'form', 'sampling'] as const;

/** The way that is taken where nobody chose one: the client is asked where it can be, else its agent's shell sends. */
export const usualRung = (errand: Errand, footing: Footing): Rung =>
  asking.find((rung) => bears(rung, errand, footing)) ?? 'upload';
