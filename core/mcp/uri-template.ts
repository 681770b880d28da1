/** How far an expression of a template reaches: a simple one stops at reserved characters, the others do not. */
interface Hole {
  readonly open: boolean
}

type Part = string | Hole

const RESERVED = /[/?#[\]@!$&'()*+,;=]/
/** Longer URIs and templates with more parts are not matched, so that no upstream can make matching slow. */
const MAX_URI = 4_096
const MAX_PARTS = 64

/**
 * Whether a URI could be an expansion of an RFC 6570 template. Linear parts and memory of visited positions keep the
 * work below parts × length, whatever a template's author wrote; regular expressions made of templates could not.
 */
export class UriTemplate {
  readonly #parts: readonly Part[]

  constructor(template: string) {
    this.#parts = split(template)
  }

  matches(uri: string): boolean {
    if (uri.length > MAX_URI || this.#parts.length > MAX_PARTS) return false
    return this.#from(0, 0, uri, new Set())
  }

  #from(part: number, at: number, uri: string, failed: Set<number>): boolean {
    const current = this.#parts[part]
    if (current === undefined) return at === uri.length
    if (typeof current === 'string')
      return uri.startsWith(current, at) && this.#from(part + 1, at + current.length, uri, failed)
    const key = part * (MAX_URI + 1) + at
    if (failed.has(key)) return false
    for (let end = at; end <= uri.length; end++) {
      if (this.#from(part + 1, end, uri, failed)) return true
      const next = uri[end]
      if (next === undefined || (!current.open && RESERVED.test(next))) break
    }
    failed.add(key)
    return false
  }
}

function split(template: string): Part[] {
  const parts: Part[] = []
  let rest = template
  for (;;) {
    const open = rest.indexOf('{')
    const close = open < 0 ? -1 : rest.indexOf('}', open)
    if (close < 0) break
    if (open > 0) parts.push(rest.slice(0, open))
    // `{var}` takes unreserved characters alone; every operator of RFC 6570 and `{list*}` may write reserved ones.
    parts.push({ open: !/^[A-Za-z0-9_.%]+(:\d+)?$/.test(rest.slice(open + 1, close)) })
    rest = rest.slice(close + 1)
  }
  if (rest !== '') parts.push(rest)
  return parts
}
