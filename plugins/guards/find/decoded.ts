/**
 * A text in which some characters were decoded. `starts` and `ends`: for each character, its place in the text that was written; absent:
 * the places are the same.
 */
export interface Decoded {
  readonly text: string
  readonly starts?: Uint32Array
  readonly ends?: Uint32Array
}

/** Most layers of escapes, such as JSON within JSON within a URL. */
const MOST_LAYERS = 4

/** Characters that are not seen; the last are tags and variation selectors beyond 16 bits. */
const HIDDEN = String.raw`[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]|\udb40[\udc00-\udfff]`
/** Letters of full width and of mathematics, and spaces of other widths, which NFKC makes those of ASCII. */
const VARIANTS = String.raw`[\uff01-\uff5e]|\ud835[\udc00-\udfff]|[\u00a0\u2000-\u200a\u202f\u205f\u3000]`
/**
 * Escapes that a reader may undo: percent encoding (of bytes in UTF-8 too), escapes with a backslash of JSON, JavaScript, Python, C
 * and Markdown, numeric references of HTML, colours of terminals, variants of letters, and characters that are not seen.
 */
const ESCAPED = new RegExp(
  [
    '(?:%[0-9a-fA-F]{2})+',
    String.raw`\\u\{0{0,6}[0-9a-fA-F]{1,6}\}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\x[0-9a-fA-F]{2}|\\[0-3][0-7]{2}`,
    String.raw`\\[nrtbf!-/:-@[-\x60{-~]`,
    '&#[xX]0{0,6}[0-9a-fA-F]{1,6};|&#[0-9]{1,7};|&(?:amp|lt|gt|quot|apos|AMP|LT|GT|QUOT);',
    String.raw`\x1b\[[0-9;?]{0,32}[A-Za-z]`,
    VARIANTS,
    HIDDEN,
  ].join('|'),
  'g',
)
const MAY_ESCAPE = new RegExp(String.raw`[%\\&\x1b]|${VARIANTS}|${HIDDEN}`)
const SHORT: Readonly<Record<string, string>> = {
  ...{ n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' },
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" },
}

/** The text, and what it says after one, two … layers of escapes were undone. */
export function layersOf(text: string): readonly Decoded[] {
  const layers: Decoded[] = [{ text }]
  for (let layer = 0; layer < MOST_LAYERS; layer += 1) {
    const next = undone(layers[layer] as Decoded)
    if (!next) break
    layers.push(next)
  }
  return layers
}

/** Undefined when there is nothing to undo. */
function undone({ text, starts, ends }: Decoded): Decoded | undefined {
  if (!MAY_ESCAPE.test(text)) return undefined
  const pieces: string[] = []
  // Decoding never makes a text longer.
  const from = new Uint32Array(text.length)
  const to = new Uint32Array(text.length)
  let length = 0
  const put = (piece: string, start: number, end: number, isWhole: boolean) => {
    pieces.push(piece)
    for (let at = 0; at < piece.length; at += 1, length += 1) {
      const first = isWhole ? start : start + at
      const last = isWhole ? end - 1 : first
      from[length] = starts?.[first] ?? first
      to[length] = ends?.[last] ?? last + 1
    }
  }
  let at = 0
  ESCAPED.lastIndex = 0
  for (let match = ESCAPED.exec(text); match; match = ESCAPED.exec(text)) {
    const [written] = match
    put(text.slice(at, match.index), at, match.index, false)
    at = match.index + written.length
    if (written.startsWith('%')) putBytes(written, match.index, put)
    else put(meaning(written), match.index, at, true)
  }
  if (at === 0) return undefined
  put(text.slice(at), at, text.length, false)
  return { text: pieces.join(''), starts: from.subarray(0, length), ends: to.subarray(0, length) }
}

/** ASCII characters one by one, so that each keeps its place; other bytes as UTF-8. */
function putBytes(
  written: string,
  start: number,
  put: (piece: string, start: number, end: number, isWhole: boolean) => void,
): void {
  let at = 0
  while (at < written.length) {
    let end = at
    while (end < written.length && Number.parseInt(written.slice(end + 1, end + 3), 16) >= 0x80) end += 3
    if (end === at) end = at + 3
    const bytes = Buffer.from(written.slice(at, end).replaceAll('%', ''), 'hex')
    put(bytes.toString('utf8'), start + at, start + end, true)
    at = end
  }
}

function meaning(written: string): string {
  if (written.startsWith('\\')) return backslashMeaning(written)
  if (written.startsWith('&#')) {
    const isHex = /^&#x/i.test(written)
    return fromCode(Number.parseInt(written.slice(isHex ? 3 : 2), isHex ? 16 : 10))
  }
  if (written.startsWith('&')) return SHORT[written.slice(1, -1).toLowerCase()] ?? written
  return IS_VARIANT.test(written) ? written.normalize('NFKC') : ''
}

const IS_VARIANT = new RegExp(`^(?:${VARIANTS})$`)
/** A line break within a word, with the indentation and the backslash that programs put there. */
const BREAK = /(?<=[\w.+/=-])\\?[ \t]{0,8}\r?\n[ \t]{0,32}(?=[\w.+/=-])/g
/** Between two strings of JSON or of a program: of one list, of one object, of objects in a list, and with a plus sign. */
const BETWEEN =
  /(?<=[\w.+/=-])(?:"\s{0,32}(?:\}\s{0,32},\s{0,32}\{\s{0,32}"[^"\\]{1,64}"\s{0,8}:\s{0,8}|,\s{0,32}(?:"[^"\\]{1,64}"\s{0,8}:\s{0,8})?)"|["'`]\s{0,32}(?:\+|\.)\s{0,32}["'`])(?=[\w.+/=-])/g

/** The text without the line breaks within words, as terminals and mails break long ones; undefined: there are none. */
export function joinedLines(decoded: Decoded): Decoded | undefined {
  return decoded.text.includes('\n') ? without(decoded, BREAK) : undefined
}

/** The text in which strings that follow one another are one; undefined: there are none. */
export function joinedStrings(decoded: Decoded): Decoded | undefined {
  return /["'`]/.test(decoded.text) ? without(decoded, BETWEEN) : undefined
}

function without({ text, starts, ends }: Decoded, pattern: RegExp): Decoded | undefined {
  const pieces: string[] = []
  const from = new Uint32Array(text.length)
  const to = new Uint32Array(text.length)
  let length = 0
  let at = 0
  const put = (end: number) => {
    pieces.push(text.slice(at, end))
    for (; at < end; at += 1, length += 1) {
      from[length] = starts?.[at] ?? at
      to[length] = ends?.[at] ?? at + 1
    }
  }
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    put(match.index)
    at += match[0].length
  }
  if (length === 0) return undefined
  put(text.length)
  return { text: pieces.join(''), starts: from.subarray(0, length), ends: to.subarray(0, length) }
}

function backslashMeaning(written: string): string {
  const [, kind = '', rest = ''] = /^\\(.)\{?([0-9a-f]*)/i.exec(written) ?? []
  if (/[uUx]/.test(kind) && rest !== '') return fromCode(Number.parseInt(rest, 16))
  if (/[0-3]/.test(kind)) return fromCode(Number.parseInt(written.slice(1), 8))
  return SHORT[kind] ?? kind
}

function fromCode(code: number): string {
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : ''
}
