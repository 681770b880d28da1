import type { LogLevel } from 'patchbay/features'
import { normalForm } from 'patchbay/transport-kit'

/** Characters of one text that can be found. */
export const INDEXED = 2_048
/** Scripts that are written without spaces: each character and each pair of these is a term. */
const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]$/u
const TRIGRAM = 3
/** Number of texts whose terms are cached, and the longest of them: names, ids and messages are repeated often. */
const KEPT_TEXTS = 4_096
export const LONGEST_KEPT = 128

const LEVEL_TERMS: Readonly<Record<LogLevel, string>> = {
  ERROR: 'l50',
  WARN: 'l40',
  INFO: 'l30',
  DEBUG: 'l20',
  TRACE: 'l10',
}

/** Terms are ASCII letters and digits, so that every database takes them as they are. */
export function levelTerm(level: LogLevel): string {
  return LEVEL_TERMS[level]
}

/** Key of a reader (`r`), server (`s`) or user (`u`) by id, tool (`t`), component (`k`), status (`x`) or outcome (`o`) by name. */
export function nameTerm(kind: 'r' | 's' | 'u' | 't' | 'k' | 'x' | 'o', name: string): string {
  return kind + hash(name)
}

/** 53 bits as hexadecimal digits (cyrb53): names that share a hash are distinguished on the row. */
function hash(text: string): string {
  let [high, low] = [0xdeadbeef, 0x41c6ce57]
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    high = Math.imul(high ^ code, 2_654_435_761)
    low = Math.imul(low ^ code, 1_597_334_677)
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909)
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909)
  return (4_294_967_296 * (2_097_151 & low) + (high >>> 0)).toString(16)
}

/** Term of a request id: its first 8 letters and digits. */
export function requestTerm(requestId: string): string {
  return `q${folded(requestId)
    .replaceAll(/[^a-z0-9]/g, '')
    .slice(0, 8)}`
}

/** A text as it is compared: compatibility forms and letter case do not count. */
export function folded(text: string): string {
  return isAscii(text) ? text.toLowerCase() : normalForm(normalForm(text, 'NFKC').toLowerCase(), 'NFKC')
}

/**
 * Terms under which a text is found, joined by spaces: for unspaced scripts each character and pair, for all others each three
 * characters. A term may occur twice.
 */
export function textTerms(text: string): string {
  if (text.length <= LONGEST_KEPT && isAscii(text)) return asciiTerms(text.toLowerCase())
  const terms = new Set<string>()
  for (const { unspaced, characters } of runsOf(folded(text.slice(0, INDEXED)))) {
    const length = unspaced ? 2 : TRIGRAM
    if (unspaced) for (const character of characters) terms.add(`w${character}`)
    for (let at = 0; at + length <= characters.length; at += 1)
      terms.add(`w${characters.slice(at, at + length).join('')}`)
  }
  return [...terms].join(' ')
}

/** Most texts are names, ids and short messages: without runs, scripts and a set of terms these take a tenth of the time. */
function asciiTerms(text: string): string {
  const terms: string[] = []
  let first = ''
  let second = ''
  for (let at = 0; at < text.length; at += 1) {
    const third = indexed(text.charCodeAt(at))
    if (at >= TRIGRAM - 1) terms.push(`w${first}${second}${third}`)
    first = second
    second = third
  }
  return terms.join(' ')
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 0x7f) return false
  return true
}

/**
 * Terms that a text has if it contains this one; empty for a text that is too short for terms. A text with all of these terms
 * need not contain it, so matches must be verified.
 */
export function substringTerms(wanted: string): string[] {
  const terms = new Set<string>()
  for (const { unspaced, characters } of runsOf(folded(wanted))) {
    const length = unspaced ? Math.min(2, characters.length) : TRIGRAM
    for (let at = 0; at + length <= characters.length; at += 1)
      terms.add(`w${characters.slice(at, at + length).join('')}`)
  }
  return [...terms]
}

interface Run {
  readonly unspaced: boolean
  /** ASCII letters and digits as they are, others as hexadecimal digits and `x`. */
  readonly characters: string[]
}

/** The text in runs of one kind of script, so that a border between them is never inside of a term. */
function runsOf(text: string): Run[] {
  const runs: Run[] = []
  let run: Run | undefined
  for (const character of text) {
    const unspaced = UNSPACED.test(character)
    if (run?.unspaced !== unspaced) {
      run = { unspaced, characters: [] }
      runs.push(run)
    }
    run.characters.push(indexed(character.codePointAt(0) ?? 0))
  }
  return runs
}

/** Returns a character of a folded text in the form used in terms. */
function indexed(code: number): string {
  const isPlain = (code >= 97 && code <= 122) || (code >= 48 && code <= 57)
  return isPlain ? String.fromCharCode(code) : `${code.toString(16)}x`
}

/** Returns the terms of texts, joined by spaces, and caches them for repeated texts. */
export class TextTerms {
  readonly #known = new Map<string, string>()

  of(text: string): string {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const terms = textTerms(text)
    if (text.length > LONGEST_KEPT) return terms
    if (this.#known.size >= KEPT_TEXTS) this.#known.clear()
    this.#known.set(text, terms)
    return terms
  }
}
