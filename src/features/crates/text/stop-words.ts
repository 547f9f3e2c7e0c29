import { stemWord } from './words.ts';

/** English words that say how a sentence is built, and not what it is about. */
const words = `a about above after again all also although am among an and any are as at be became because become been
  before being below between both but by can cannot could did do does doing done down due during each either else etc
  ever every few for from further had has have having he hence her here hers him his how however i if in into is it its
  itself just less made make many may me might more most much must my neither no nor not of off on once one only onto or
  other our out over own per quite rather same shall she should since so some such than that the their them then there
  thereby therefore these they this those though through thus to too toward under until up upon us use used using very
  via was we were what when where whether which while who whom whose why will with within without would yet you your`;

const stopWords = new Set(words.split(/\s+/).map(stemWord));

/** Whether a stem is that of a stop word. They are indexed all the same: phrases and names contain them. */
export const isStopWord = (stem: string): boolean => stopWords.has(stem);
