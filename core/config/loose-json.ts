import type { JsonValue } from '../contract/json.ts'
import { JsoncError, readJsonc } from './jsonc.ts'

/** Longest text that is rewritten; longer ones come from programs, which write JSON. */
const MOST_CHARACTERS = 256 * 1024

/** Quotes that begin a text, with those that end it. */
const QUOTES: Readonly<Record<string, string>> = {
  ...{ '"': '"', "'": "'", '`': '`' },
  ...{ '“': '”“"', '”': '”“', '„': '”“"', '«': '»', '‘': '’‘', '’': '’‘' },
}

/** Constants of JavaScript and Python. */
const CONSTANTS: Readonly<Record<string, string>> = {
  ...{ true: 'true', false: 'false', null: 'null' },
  ...{ True: 'true', False: 'false', None: 'null', undefined: 'null' },
}

/**
 * The value of a JSON text with comments, or of one as people write and copy it: single and typographic quotes, keys without
 * quotes, constants of Python, blanks that do not break, members without the braces around them, closing brackets of what was
 * not copied. Throws JsoncError about the text as it was written.
 */
export function readLooseJson(text: string): JsonValue {
  try {
    return readJsonc(text).value
  } catch (error) {
    if (!(error instanceof JsoncError) || error.kind === 'duplicate') throw error
    const rewritten = strictJson(text)
    if (rewritten === undefined) throw error
    try {
      return readJsonc(rewritten).value
    } catch (second) {
      throw second instanceof JsoncError && second.kind === 'duplicate' ? second : error
    }
  }
}

/** The text as JSON; undefined for one that is no such text. */
function strictJson(text: string): string | undefined {
  if (text.length > MOST_CHARACTERS) return undefined
  return new Rewriter(text).run()
}

class Rewriter {
  readonly #text: string
  readonly #out: string[] = []
  /** Open brackets. */
  readonly #open: string[] = []
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  run(): string | undefined {
    while (this.#at < this.#text.length) {
      const character = this.#text.charAt(this.#at)
      if (/[\s\ufeff\u200b]/.test(character)) this.#at += 1
      else if (this.#skipComment()) continue
      else if (this.#isSurplus(character)) break
      else if (!this.#token(character)) return undefined
    }
    return this.#joined()
  }

  #token(character: string): boolean {
    if ('{}[],:;'.includes(character)) return this.#punctuation(character)
    return Object.hasOwn(QUOTES, character) ? this.#quoted(QUOTES[character] ?? character) : this.#word()
  }

  /** The members of an object without its braces get them. */
  #joined(): string {
    this.#dropComma()
    const whole = this.#out.join('')
    return this.#out[1] === ':' ? `{${whole}}` : whole
  }

  #skipComment(): boolean {
    const ends = this.#text.startsWith('//', this.#at) || this.#text.charAt(this.#at) === '#' ? '\n' : '*/'
    if (ends === '*/' && !this.#text.startsWith('/*', this.#at)) return false
    const end = this.#text.indexOf(ends, this.#at + 1)
    this.#at = end < 0 ? this.#text.length : end + ends.length
    return true
  }

  /** A bracket that closes what was not copied, with nothing but such brackets behind it. */
  #isSurplus(character: string): boolean {
    if (this.#open.length > 0 || this.#out.length === 0 || !'}];,'.includes(character)) return false
    return /^[\s}\];,]*$/.test(this.#text.slice(this.#at))
  }

  #punctuation(character: string): boolean {
    if (character === '{' || character === '[') this.#open.push(character)
    if (character === '}' || character === ']') {
      this.#open.pop()
      this.#dropComma()
    }
    this.#out.push(character)
    this.#at += 1
    return true
  }

  #dropComma(): void {
    while (this.#out.at(-1) === ',') this.#out.pop()
  }

  #quoted(closing: string): boolean {
    let content = ''
    for (let at = this.#at + 1; at < this.#text.length; at += 1) {
      const character = this.#text.charAt(at)
      if (closing.includes(character)) {
        this.#out.push(JSON.stringify(content))
        this.#at = at + 1
        return true
      }
      if (character === '\n') return false
      if (character !== '\\') {
        content += character
        continue
      }
      const [length, value] = escaped(this.#text, at + 1)
      content += value
      at += length
    }
    return false
  }

  #word(): boolean {
    const [word = ''] = /^[^\s,:{}[\]"'`;]+/.exec(this.#text.slice(this.#at, this.#at + 1_024)) ?? []
    if (word === '') return false
    this.#at += word.length
    // An ellipsis stands for members that somebody left out.
    if (/^(?:\.{3}|…)$/.test(word)) {
      if (/^\s*,/.test(this.#text.slice(this.#at, this.#at + 64))) this.#at = this.#text.indexOf(',', this.#at) + 1
      return true
    }
    if (/^\s*:/.test(this.#text.slice(this.#at, this.#at + 256)) && /^[\w$.@/-]+$/.test(word)) {
      this.#out.push(JSON.stringify(word))
      return true
    }
    const value = Object.hasOwn(CONSTANTS, word) ? CONSTANTS[word] : numberOf(word)
    if (value === undefined) return false
    this.#out.push(value)
    return true
  }
}

function numberOf(word: string): string | undefined {
  if (!/^[+-]?(?:0x[\da-f]+|\d[\d_]*\.?\d*(?:e[+-]?\d+)?|\.\d+)$/i.test(word)) return undefined
  const value = Number(word.replaceAll('_', ''))
  return Number.isFinite(value) ? String(value) : undefined
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', '0': '\0', '\n': '' }

/** The character behind a backslash, and how many characters of the text it takes. */
function escaped(text: string, at: number): readonly [length: number, value: string] {
  const code = /^(?:u([\da-f]{4})|x([\da-f]{2}))/i.exec(text.slice(at, at + 5))
  if (code) return [code[0].length, String.fromCharCode(Number.parseInt(code[1] ?? code[2] ?? '', 16))]
  const character = text.charAt(at)
  return [1, Object.hasOwn(ESCAPES, character) ? (ESCAPES[character] ?? '') : character]
}
