/** An expression of a template. A simple one stops at reserved characters, an `open` one does not. */
interface Hole {
  readonly open: boolean
}

type Part = string | Hole

const RESERVED = /[/?#[\]@!$&'()*+,;=]/
/** Longer URIs and templates with more parts are not matched, so that no upstream can make matching slow. */
const MAX_URI = 4_096
const MAX_PARTS = 64

/** The work limit of one lookup, in characters compared: the author of a template must not decide how long it takes. */
export class Steps {
  left: number

  constructor(left: number) {
    this.left = left
  }

  /** False when the limit is exceeded. */
  take(count: number): boolean {
    this.left -= count
    return this.left >= 0
  }
}

/**
 * Decides whether a URI could be an expansion of an RFC 6570 template. The set of reachable positions is computed part by part,
 * so that the work stays below parts × length for any template; a regular expression made from a template could take
 * exponential time.
 */
export class UriTemplate {
  readonly #parts: readonly Part[]

  constructor(template: string) {
    this.#parts = split(template)
  }

  /** Undefined when the steps ran out before the result was known. */
  matches(uri: string, steps: Steps): boolean | undefined {
    const parts = this.#parts
    const first = parts[0]
    const last = parts.at(-1)
    if (!steps.take(1)) return undefined
    if (typeof first === 'string' && !uri.startsWith(first)) return false
    if (typeof last === 'string' && !uri.endsWith(last)) return false
    if (uri.length > MAX_URI || parts.length > MAX_PARTS) return false
    let places: readonly number[] = [0]
    for (const part of parts) {
      const found = typeof part === 'string' ? afterText(part, places, uri) : afterHole(part, places, uri)
      if (!steps.take(places.length + found.length)) return undefined
      if (found.length === 0) return false
      places = found
    }
    return places.at(-1) === uri.length
  }
}

function afterText(text: string, places: readonly number[], uri: string): number[] {
  return places.filter(place => uri.startsWith(text, place)).map(place => place + text.length)
}

/** Positions are in ascending order, so that each stretch is scanned once. */
function afterHole({ open }: Hole, places: readonly number[], uri: string): number[] {
  const reached: number[] = []
  for (const place of places) {
    if (place <= (reached.at(-1) ?? -1)) continue
    for (let end = place; end <= uri.length; end++) {
      reached.push(end)
      if (!open && RESERVED.test(uri[end] ?? '')) break
    }
  }
  return reached
}

function split(template: string): Part[] {
  const parts: Part[] = []
  let rest = template
  for (;;) {
    const open = rest.indexOf('{')
    const close = open < 0 ? -1 : rest.indexOf('}', open)
    if (close < 0) break
    if (open > 0) parts.push(rest.slice(0, open))
    // `{var}` matches only unreserved characters; every operator of RFC 6570 and `{list*}` may produce reserved ones.
    parts.push({ open: !/^[A-Za-z0-9_.%]+(:\d+)?$/.test(rest.slice(open + 1, close)) })
    rest = rest.slice(close + 1)
  }
  if (rest !== '') parts.push(rest)
  return parts
}
