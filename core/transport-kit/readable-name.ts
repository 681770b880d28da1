import anyAscii from 'any-ascii'

const NON_ASCII_RUN = /[^\0-\x7f]+/g
const NON_ASCII = /[^\0-\x7f]/
/** No name is written at greater length, in UTF-16 code units: what stands behind is left out. */
const LONGEST = 512
/** Written for letters that ASCII has not, such as the soft sign of Russian; in a name they would only be separators. */
const APOSTROPHES = /['"`]/g

/**
 * A name with every letter of another script in its usual Latin spelling, and everything else that is not in
 * `[A-Za-z0-9_-]` as `_`: `天气查询` becomes `TianQiChaXun`. `keep`: further ASCII characters that stay. The result depends on
 * the name alone, may be longer than it, and is empty where no character has a Latin spelling. Two names may become one.
 */
export function readableName(name: string, keep: '' | '.' = ''): string {
  const head = name.slice(0, LONGEST)
  const latin = NON_ASCII.test(head)
    ? head.normalize('NFC').replace(NON_ASCII_RUN, run => anyAscii(run).replace(APOSTROPHES, ''))
    : head
  return latin.replace(keep === '.' ? /[^A-Za-z0-9_.-]/g : /[^A-Za-z0-9_-]/g, '_')
}
