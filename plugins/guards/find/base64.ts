import { type Charset, charsetOf } from './charset.ts'
import type { Encoded } from './types.ts'

/** A run that may be text in base 64, in either alphabet, on one line or several. Line breaks may be escaped. */
const RUN = /[A-Za-z0-9+/_-]{24,}(?:(?:\r?\n|(?:\\r)?\\n)[ \t]{0,16}[A-Za-z0-9+/_-]+)*={0,2}/g
const BREAK = /(?:\r?\n|(?:\\r)?\\n)[ \t]{0,16}/g
/** Bytes at the beginning that show whether it is text. */
const SAMPLE = 96
const SHORTEST = 24

/** The text of bytes and their character set. */
interface Read {
  readonly text: string
  readonly charset: Charset
}

/** The parts of a text that are text in base 64. */
export function base64Parts(text: string): readonly Encoded[] {
  const found: Encoded[] = []
  RUN.lastIndex = 0
  for (let match = RUN.exec(text); match; match = RUN.exec(text)) found.push(...partsOf(match[0], match.index))
  return found
}

/** Lines of equal length are one part, other lines one each. */
function partsOf(written: string, start: number): readonly Encoded[] {
  const breaks = [...written.matchAll(BREAK)]
  if (breaks.length === 0) return partOf(written, written, start, encoded => encoded)
  const [separator = '\n'] = breaks[0] ?? []
  const lines = written.split(BREAK)
  const width = lines[0]?.length ?? 0
  const isWrapped = lines.every((line, at) => (at < lines.length - 1 ? line.length === width : line.length <= width))
  const wrap = (encoded: string) =>
    Array.from({ length: Math.ceil(encoded.length / width) }, (_, at) =>
      encoded.slice(at * width, (at + 1) * width),
    ).join(separator)
  const whole = isWrapped ? partOf(written, lines.join(''), start, wrap) : []
  if (whole.length > 0) return whole
  let at = start
  return lines.flatMap((line, index) => {
    const from = at
    at += line.length + (breaks[index]?.[0].length ?? 0)
    return line.length < SHORTEST ? [] : partOf(line, line, from, encoded => encoded)
  })
}

function partOf(
  written: string,
  joined: string,
  start: number,
  wrap: (encoded: string) => string,
): readonly [Encoded] | readonly [] {
  const read = textOf(joined)
  if (!read) return []
  const form = /[-_]/.test(joined) ? 'base64url' : 'base64'
  const encode = (changed: string) => wrap(Buffer.from(changed, read.charset).toString(form))
  return [{ start, end: start + written.length, text: read.text, encode }]
}

/** The text of a run; undefined for other data, as most words and keys are after decoding. */
function textOf(joined: string): Read | undefined {
  if (!charsetOf(Buffer.from(joined.slice(0, (SAMPLE * 4) / 3), 'base64'), true)) return undefined
  const whole = Buffer.from(joined, 'base64')
  const charset = charsetOf(whole, false)
  return charset && { text: whole.toString(charset), charset }
}
