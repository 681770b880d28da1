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

/**
 * Escapes that a reader may undo: percent encoding (of bytes in UTF-8 too), escapes of JSON and JavaScript with a backslash, numeric
 * references of HTML, letters of full width, and characters that are not seen.
 */
const ESCAPED =
  /(?:%[0-9a-f]{2})+|\\u\{0{0,6}[0-9a-f]{1,6}\}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\[nrtbf"'/\\]|&#x0{0,6}[0-9a-f]{1,6};|&#[0-9]{1,7};|&(?:amp|lt|gt|quot|apos);|[\uff01-\uff5e]|[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]/gi
const MAY_ESCAPE = /[%\\&\u00ad\u200b-\u200f\u2060-\u2064\ufeff\uff01-\uff5e]/
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
  if (written.startsWith('\\')) {
    const [, kind = '', rest = ''] = /^\\(.)\{?([0-9a-f]*)/i.exec(written) ?? []
    if (/[ux]/i.test(kind) && rest !== '') return fromCode(Number.parseInt(rest, 16))
    return SHORT[kind] ?? kind
  }
  if (written.startsWith('&#')) {
    const isHex = /^&#x/i.test(written)
    return fromCode(Number.parseInt(written.slice(isHex ? 3 : 2), isHex ? 16 : 10))
  }
  if (written.startsWith('&')) return SHORT[written.slice(1, -1).toLowerCase()] ?? written
  const code = written.charCodeAt(0)
  return code >= 0xff01 && code <= 0xff5e ? String.fromCharCode(code - 0xfee0) : ''
}

function fromCode(code: number): string {
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : ''
}
