const NON_ASCII_RUN = /[^\0-\x7f]+/g
const NON_ASCII = /[^\0-\x7f]/
/** Longest name in UTF-16 code units; the rest is cut off. */
const LONGEST = 512
/** Transliterations of letters without an ASCII form, such as the Russian soft sign; in names mere separators. */
const APOSTROPHES = /['"`]/g

/** The tables of all scripts are 3 MB in memory, which a hub of ASCII names never loads. */
function anyAscii(text: string): string {
  return (require('any-ascii') as { readonly default: (text: string) => string }).default(text)
}

/**
 * A name with letters of other scripts in their Latin transliteration, and everything else that is not in `[A-Za-z0-9_-]` as
 * `_`: `天气查询` becomes `TianQiChaXun`. `keep`: further ASCII characters that stay. The result depends only on the name, may be
 * longer, and is empty if no character has a transliteration. Two names may give one result.
 */
export function readableName(name: string, keep: '' | '.' = ''): string {
  const head = name.slice(0, LONGEST)
  const latin = NON_ASCII.test(head)
    ? head.normalize('NFC').replace(NON_ASCII_RUN, run => anyAscii(run).replace(APOSTROPHES, ''))
    : head
  return latin.replace(keep === '.' ? /[^A-Za-z0-9_.-]/g : /[^A-Za-z0-9_-]/g, '_')
}
