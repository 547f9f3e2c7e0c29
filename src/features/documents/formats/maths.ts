import { rewriteAst } from '../sanitize/ast.ts';
import { toWordInlines } from '../sanitize/markdown.ts';
import type { PandocAst, PandocInline } from './tree.ts';

/** Formats in which a formula could be code: the first two contain its TeX as it is, Pandoc translates it for Typst. */
export type MathsFormat = 'latex' | 'markdown' | 'typst';

export interface SafeMaths {
  readonly tree: PandocAst;
  readonly warnings: readonly string[];
}

/** Turns every formula that could be code in this format into text, with a warning. */
export function sanitizeMaths(tree: PandocAst, format: MathsFormat): SafeMaths {
  const reasons = new Set<string>();
  const sanitize = format === 'typst' ? sanitizeForTypst : (formula: string) => sanitizeTex(formula, format);
  const inlines = (list: PandocInline[]): PandocInline[] =>
    list.flatMap((node): PandocInline[] => {
      if (node.t !== 'Math') return [node];
      const result = sanitize(node.c[1]);
      if ('formula' in result) return [{ t: 'Math', c: [node.c[0], result.formula] }];
      reasons.add(result.reason);
      return toWordInlines(`$${node.c[1]}$`);
    });
  return { tree: rewriteAst(tree, { inlines }), warnings: toMathsWarnings(reasons) };
}

const maxNamedMathsReasons = 10;
const maxMathsReasonLength = 30;

function toMathsWarnings(reasons: ReadonlySet<string>): string[] {
  if (reasons.size === 0) return [];
  const few = [...reasons]
    .slice(0, maxNamedMathsReasons)
    .map((reason) => reason.slice(0, maxMathsReasonLength).toWellFormed());
  const more = reasons.size > maxNamedMathsReasons ? ` and ${reasons.size - maxNamedMathsReasons} more` : '';
  return [
    `Some maths was written as text, because it contains what is not allowed in a formula: ${few.join(', ')}${more}. Remove that to get a formula.`,
  ];
}

type SanitizedFormula = { readonly formula: string } | { readonly reason: string };

/** The parts of a formula that mean something to TeX beyond a character. */
const texTokens = /\\(begin|end)\s*\{([^{}]*)\}|\\([A-Za-z]+)|\\([\s\S]|$)|[{}$#&]/gu;

/** Accepts TeX in which all commands are allowed, all groups are closed, and nothing is written as `^^`. */
function sanitizeTex(given: string, format: 'latex' | 'markdown'): SanitizedFormula {
  const formula = removeTexComments(given);
  // TeX reads `^^5c` as a backslash, even within the name of a command.
  if (formula.includes('^^')) return { reason: '^^' };
  const open: string[] = [];
  for (const [part, edge, environment, word, symbol] of formula.matchAll(texTokens)) {
    const isKnown =
      environment !== undefined
        ? allowedTexEnvironments.has(environment.replace(/\*$/, '')) &&
          trackTexNesting(open, edge!, environment)
        : word !== undefined
          ? allowedTexCommands.has(word)
          : symbol !== undefined
            ? allowedTexSymbols.has(symbol)
            : isTexTokenPlaced(part, open, format);
    if (!isKnown) return { reason: part };
  }
  return open.length === 0 ? { formula } : { reason: `${open.at(-1)!} that is not closed` };
}

/** A comment would hide the end of the formula. An empty line ends it, as TeX and Markdown have it. */
function removeTexComments(formula: string): string {
  return formula
    .replaceAll(/\\[\s\S]|%[^\n]*/g, (part) => (part.startsWith('%') ? '' : part))
    .replaceAll(/\n\s*\n/g, '\n');
}

/** Whether a brace, dollar sign, `#` or `&` is where it cannot end or break the formula. */
function isTexTokenPlaced(mark: string, open: string[], format: 'latex' | 'markdown'): boolean {
  if (mark === '{' || mark === '}') return trackTexNesting(open, mark === '{' ? 'begin' : 'end', '{');
  if (mark === '&') return open.some((name) => allowedTexEnvironments.has(name.replace(/\*$/, '')));
  if (mark === '#' || format === 'markdown') return false;
  // A formula in a text in a formula: \text{if $x$}.
  if (open.includes('$')) return trackTexNesting(open, 'end', '$');
  return open.at(-1) === '{' && trackTexNesting(open, 'begin', '$');
}

/** Opens or closes a group; false if another one has to be closed first. */
function trackTexNesting(open: string[], edge: string, name: string): boolean {
  if (edge === 'begin') return open.push(name) > 0;
  return open.pop() === name;
}

/** Pandoc writes the name of an operator into Typst's strings as it is, and text in a phantom into its markup. */
const texOperatorCommand = /\\(?:operatorname|mathop)(?![A-Za-z])/;
const endsTypstString = /"|\\(?:textbackslash|backslash|char)(?![A-Za-z])/;
const texPhantomCommand = /\\phantom(?![A-Za-z])/;
const texTextCommand = /\\(?:text[a-z]*|mbox|operatorname|mathop)(?![A-Za-z])/;
/** With its own commands, a formula could write any of these in another way. */
const texDefinitionCommand =
  /\\(?:(?:re)?newcommand|providecommand|DeclareMathOperator|(?:re)?newenvironment|let|[gex]?def)(?![A-Za-z])/;

function sanitizeForTypst(formula: string): SanitizedFormula {
  const defined = texDefinitionCommand.exec(formula)?.[0];
  if (defined !== undefined) return { reason: defined };
  if (texOperatorCommand.test(formula) && endsTypstString.test(formula))
    return { reason: `${endsTypstString.exec(formula)![0]} beside ${texOperatorCommand.exec(formula)![0]}` };
  if (texPhantomCommand.test(formula) && texTextCommand.test(formula))
    return { reason: `${texTextCommand.exec(formula)![0]} beside \\phantom` };
  return { formula };
}

/**
 * The allow-list of LaTeX commands in formulas: those of LaTeX and AMS for symbols, fonts and spaces, and others that
 * Pandoc understands. None of them reads, writes or runs anything, or changes what another one means. A command that is
 * not here, such as `\input`, is not written to a `.tex`.
 */
export const allowedTexCommands: ReadonlySet<string> = new Set(
  `
  frac dfrac tfrac cfrac binom dbinom tbinom genfrac sqrt surd over atop choose brace brack stackrel overset
  underset sideset substack left right middle big Big bigg Bigg bigl Bigl biggl Biggl bigr Bigr biggr Biggr
  bigm Bigm biggm Biggm limits nolimits displaylimits displaystyle textstyle scriptstyle scriptscriptstyle
  phantom hphantom vphantom smash mathstrut boxed cancel bcancel xcancel tag hline allowbreak ensuremath
  mathop mathrel mathbin mathord mathopen mathclose mathpunct mathinner operatorname operatornamewithlimits
  not mod bmod pmod pod overline underline overbrace underbrace overbracket underbracket overleftarrow
  overrightarrow overleftrightarrow underleftarrow underrightarrow underleftrightarrow underbar xleftarrow
  xrightarrow xleftrightarrow xLeftarrow xRightarrow xLeftrightarrow xhookleftarrow xhookrightarrow xmapsto
  color textcolor

  mathrm mathup mathbf mathit mathtt mathsf mathsfup mathbb mathds mathcal mathscr mathfrak mathnormal
  mathbfup mathbfit mathbfsfup mathbfsfit mathbfscr mathbffrak mathbfcal mathsfit mathbold boldsymbol bm pmb
  symbf symit symup symrm symsf symtt symbb symcal symscr symfrak rm bf it sf tt cal mit text textrm textbf
  textit texttt textsf textsc textsl textup textmd textnormal mbox textasciitilde textasciicircum
  textbackslash aa AA ss o O l L ae AE oe OE i j c v u H k r d b t

  quad qquad enspace thinspace medspace thickspace negthinspace negmedspace negthickspace hspace mspace kern
  mkern hskip mskip hfill nobreakspace hat widehat check tilde widetilde acute grave dot ddot dddot ddddot
  breve bar vec mathring Vec Dot overarc

  Alpha Beta Epsilon Zeta Eta Iota Kappa Mu Nu Omicron Rho Tau Chi omicron Digamma adots aleph alpha amalg
  angle approx approxeq arccos arcsin arctan arg Arrowvert arrowvert ast asymp backepsilon backprime backsim
  backsimeq backslash barwedge Bbbk because beta beth between bigcap bigcirc bigcup bigcupdot bigodot
  bigoplus bigotimes bigsqcap bigsqcup bigstar bigtimes bigtriangledown bigtriangleup biguplus bigvee
  bigwedge blacklozenge blacksquare blacktriangle blacktriangledown blacktriangleleft blacktriangleright bot
  bowtie Box boxdot boxminus boxplus boxtimes bracevert bullet Bumpeq bumpeq Cap cap cdot cdotp cdots
  centerdot checkmark chi circ circeq circlearrowleft circlearrowright circledast circledcirc circleddash
  circledR clubsuit colon coloneq Coloneqq coloneqq complement cong coprod cos cosh cot coth csc Cup cup
  cupdot curlyeqprec curlyeqsucc curlyvee curlywedge curvearrowleft curvearrowright dag dagger daleth
  dasharrow dashleftarrow dashrightarrow dashv dblcolon ddag ddagger ddots deg Delta delta det diagdown
  diagup Diamond diamond diamondsuit digamma dim div divideontimes Doteq doteq doteqdot dotplus dots dotsb
  dotsc dotsi dotsm dotso doublebarwedge Downarrow downarrow downdownarrows downharpoonleft downharpoonright
  ell emptyset epsilon eqcirc eqcolon Eqqcolon eqqcolon eqsim eqslantgtr eqslantless equiv eta eth euro
  exists exp fallingdotseq female Finv flat forall frown Game Gamma gamma gcd ge geq geqq geqslant gets gg
  ggg gimel gnapprox gneq gneqq gnsim gtrapprox gtrdot gtreqless gtreqqless gtrless gtrsim gvertneqq hbar
  hdots heartsuit hom hookleftarrow hookrightarrow hslash iddots idotsint iff iiiint iiint iint Im imath
  impliedby implies in inf infty injlim int intercal iota jmath Join kappa ker Lambda lambda land langle
  lbag lBrace lbrace lbrack lceil ldots le leadsto Leftarrow leftarrow leftarrowtail leftharpoondown
  leftharpoonup leftleftarrows Leftrightarrow leftrightarrow leftrightarrows leftrightharpoons
  leftrightsquigarrow leftthreetimes leq leqq leqslant lessapprox lessdot lesseqgtr lesseqqgtr lessgtr
  lesssim lfloor lg lgroup lhd lim liminf limsup ll llbracket llcorner Lleftarrow lll lmoustache ln lnapprox
  lneq lneqq lnot lnsim log Longleftarrow longleftarrow Longleftrightarrow longleftrightarrow longmapsfrom
  Longmapsto longmapsto Longrightarrow longrightarrow looparrowleft looparrowright lor lozenge lrcorner Lsh
  ltimes lVert lvert lvertneqq male maltese Mapsfrom mapsfrom Mapsto mapsto mathdollar mathsterling max
  measuredangle mho mid min models mp mu multimap nabla natural ncong ne nearrow neg neq nequiv nexists ng
  ngeq ngeqq ngeqslant ngtr ni nin nLeftarrow nleftarrow nLeftrightarrow nleftrightarrow nleq nleqq
  nleqslant nless nmid notin nparallel nprec npreceq nRightarrow nrightarrow nshortmid nshortparallel nsim
  nsubset nsubseteq nsubseteqq nsucc nsucceq nsupset nsupseteq nsupseteqq ntriangleleft ntrianglelefteq
  ntrianglelefteqslant ntriangleright ntrianglerighteq nu nVDash nVdash nvDash nvdash nwarrow odot oiiint
  oiint oint Omega omega ominus oplus oslash otimes owns parallel partial perp perthousand Phi phi Pi pi
  pitchfork pm pounds Pr prec precapprox preccurlyeq preceq precnapprox precneqq precnsim precsim prime prod
  projlim propto Psi psi rangle rbag rBrace rbrace rbrack rceil Re restriction rfloor rgroup rhd rho
  Rightarrow rightarrow rightarrowtail rightharpoondown rightharpoonup rightleftarrows rightleftharpoons
  rightrightarrows rightsquigarrow rightthreetimes risingdotseq rmoustache rrbracket Rrightarrow Rsh rtimes
  rVert rvert searrow sec setminus sharp shortmid shortparallel Sigma sigma sim simeq sin sinh slash
  smallfrown smallint smallsetminus smallsmile smile spadesuit sphericalangle sqcap sqcup sqsubset
  sqsubseteq sqsupset sqsupseteq Square star Subset subset subseteq subseteqq subsetneq subsetneqq succ
  succapprox succcurlyeq succeq succnapprox succneqq succnsim succsim sum sup Supset supset supseteq
  supseteqq supsetneq supsetneqq swarrow tan tanh tau textdegree therefore Theta theta thickapprox thicksim
  times to top triangle triangledown triangleleft trianglelefteq triangleq triangleright trianglerighteq
  twoheadleftarrow twoheadrightarrow ulcorner unlhd unrhd Uparrow uparrow Updownarrow updownarrow
  upharpoonleft upharpoonright uplus Upsilon upsilon upuparrows urcorner varDelta varepsilon varGamma
  varinjlim varkappa varLambda varliminf varlimsup varnothing varOmega varPhi varphi varPi varpi varprojlim
  varpropto varPsi varrho varSigma varsigma varsubsetneq varsubsetneqq varsupsetneq varsupsetneqq varTheta
  vartheta vartriangle vartriangleleft vartriangleright varUpsilon varXi vcentcolon VDash Vdash vDash vdash
  vdots vee veebar Vert vert Vvdash wedge wp wr Xi xi yen zeta

  SI si qty unit num ang SIrange qtyrange numrange numlist ampere amu angstrom arcmin arcminute arcsecond
  astronomicalunit atomicmassunit atto barn becquerel bel candela celsius centi coulomb dalton deca deci
  decibel degree degreeCelsius deka electronvolt exa farad femto giga gram gray hectare hecto henry hertz
  hour joule katal kelvin kilo kilogram knot liter litre lumen lux mega meter metre micro milli minute mole
  nano nauticalmile neper newton ohm pascal per percent peta pico radian second siemens sievert steradian
  tera tesla tonne volt watt weber yocto yotta zepto zetta GHz Hz MHz MPa GPa Pa THz TeV GeV MeV keV meV eV
  dB cm dm fs kA kHz kJ kN kPa kV kW kWh kg km mA mHz mJ mL mN mV mW mg ml mm mmHg mmol mol ms nA nm ns pA
  pF ps uA ug um us square squared cubic cubed raisetothe tothe
`
    .trim()
    .split(/\s+/),
);

/** Commands of one character, without the backslash. */
const allowedTexSymbols: ReadonlySet<string> = new Set(' \n\t\\!,:;>|{}_&%#$/-*.\'`"=~^');

/** Environments, with or without a star. */
const allowedTexEnvironments: ReadonlySet<string> = new Set(
  `array subarray eqnarray equation align aligned alignat alignedat flalign flaligned gather gathered multline
  multlined split cases dcases rcases matrix smallmatrix pmatrix bmatrix Bmatrix vmatrix Vmatrix`.split(
    /\s+/,
  ),
);
