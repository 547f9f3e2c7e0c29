/**
 * Makes identifiers of names that others chose, so that they are the same in Python and JavaScript, are no keyword and
 * hide nothing that the generated files use. It renders no text.
 */

/** Words that cannot be names in one of the languages, or that would hide what the generated files use. */
const reservedWords = new Set(
  [
    'False None True and as assert async await break class continue def del elif else except finally for from global',
    'if import in is lambda nonlocal not or pass raise return try while with yield',
    'arguments case catch const debugger default delete do enum eval export extends false function implements instanceof',
    'interface let new null package private protected public static super switch this throw true typeof undefined var void',
    'Any Awaitable Callable Generic Literal NotRequired ParamSpec ToolError TypedDict TypeVar bool call dict float int list',
    'object str tuple type print self',
  ]
    .join(' ')
    .split(' '),
);

/** Longer names are cut; the number behind a name that is there twice tells them apart. */
const maxIdentifierLength = 64;

/** Only ASCII: a look-alike letter must not make two names that read the same. */
function toIdentifier(name: string): string {
  const plain = name
    .slice(0, 4 * maxIdentifierLength)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, maxIdentifierLength);
  if (plain === '') return 'unnamed';
  const started = /^\d/.test(plain) ? `n${plain}` : plain;
  return reservedWords.has(started) ? `${started}_` : started;
}

/** Whether a name can be used as it is. */
export const isPlainIdentifier = (name: string): boolean => toIdentifier(name) === name;

/** Gives each name an identifier that no other has. The same names in the same order get the same identifiers. */
export function createNaming() {
  const taken = new Set<string>();
  const numbers = new Map<string, number>();
  return (name: string): string => {
    const wanted = toIdentifier(name);
    let own = wanted;
    for (let number = numbers.get(wanted) ?? 2; taken.has(own); number++) {
      own = `${wanted}_${number}`;
      numbers.set(wanted, number + 1);
    }
    taken.add(own);
    return own;
  };
}
