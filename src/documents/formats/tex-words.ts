/**
 * The commands of LaTeX that a formula may have: those of LaTeX and AMS that set symbols, fonts and spaces, and those that
 * Pandoc understands besides. None of them reads, writes or runs anything, or changes what another one means. A word that
 * is not here, such as `\input`, is not written to a `.tex`.
 */
export const mathsWords: ReadonlySet<string> = new Set(
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
export const mathsSymbols: ReadonlySet<string> = new Set(' \n\t\\!,:;>|{}_&%#$/-*.\'`"=~^');

/** Environments, with or without a star. */
export const mathsEnvironments: ReadonlySet<string> = new Set(
  `array subarray eqnarray equation align aligned alignat alignedat flalign flaligned gather gathered multline
  multlined split cases dcases rcases matrix smallmatrix pmatrix bmatrix Bmatrix vmatrix Vmatrix`.split(
    /\s+/,
  ),
);
