import { normalForm } from 'patchbay/transport-kit'
import glossary from './glossary.json' with { type: 'json' }
import spoken from './spoken.json' with { type: 'json' }
import lists from './words.json' with { type: 'json' }

/** One requested thing: its words, each with a weight from 0 to 1. */
export type Wanted = ReadonlyMap<string, number>

/** The same word in other spelling, and a word of near meaning. */
const SAME_WEIGHT = 0.8
const NEAR_WEIGHT = 0.5
/** Weight of a run of Han characters beside its translation: for servers with Chinese texts. */
const HAN_WEIGHT = 0.6
/** Number of words after which queries are cut, since each word is searched in each tool. */
const MOST_WANTED = 40

const HAN = /\p{Script=Han}+/gu
const WORD = /[\p{L}\p{N}]+/gu
const HAN_OR_WORD = /\p{Script=Han}+|[[\p{L}\p{N}]--\p{Script=Han}]+/gv

/** Words that belong together, each with its alternatives. */
type Translation = readonly (readonly string[])[]

interface Tables {
  readonly stop: ReadonlySet<string>
  readonly near: ReadonlyMap<string, ReadonlyMap<string, number>>
  readonly glossary: ReadonlyMap<string, Translation>
  /** Characters of the longest entry of the glossary. */
  readonly longest: number
  /** Words with a joint meaning. */
  readonly phrase: RegExp
}

/** Normalizes English and Chinese words for searches: lower case, without endings, with Chinese ones also translated. */
export class Words {
  #read: Tables | undefined

  /** Read at the first use, since most starts of a hub do not need them. */
  get #tables(): Tables {
    this.#read ??= readTables()
    return this.#read
  }

  /** The words of a text, repeated ones too. */
  ofText(text: string): string[] {
    const found: string[] = []
    for (const [run] of spread(text).matchAll(WORD)) {
      const han = run.match(HAN)
      for (const chinese of han ?? []) {
        found.push(...bigrams(chinese))
        for (const { english } of this.#translated(chinese)) found.push(...english.flat())
      }
      const rest = han ? run.replace(HAN, ' ').split(' ') : [run]
      for (const word of rest) if (word !== '') this.#push(found, stem(word))
    }
    return found
  }

  /** Requested things of a query, each with its synonyms. In a query of stop words only, these count. */
  ofQuery(text: string): readonly Wanted[] {
    const wanted = this.#wanted(text, true)
    return wanted.length > 0 ? wanted : this.#wanted(text, false)
  }

  #wanted(text: string, withoutStops: boolean): readonly Wanted[] {
    const wanted = new Map<string, Wanted>()
    const add = (words: readonly string[], beside: readonly string[] = []): void => {
      const kept = withoutStops ? words.filter(word => !this.#tables.stop.has(word)) : words
      if (kept.length === 0 && beside.length === 0) return
      const key = [...kept, ...beside].join(' ')
      if (wanted.size < MOST_WANTED && !wanted.has(key)) wanted.set(key, this.#withSynonyms(kept, beside))
    }
    for (const [run] of this.#withoutPhrases(spread(text)).matchAll(WORD)) {
      for (const part of partsOf(run)) {
        if (!part.match(HAN)) add([stem(part)])
        else for (const { chinese, english } of this.#translated(part)) this.#addChinese(add, chinese, english)
      }
    }
    return [...wanted.values()]
  }

  /** Each word of a translation with several is requested, the first with its alternatives and in its original form. */
  #addChinese(
    add: (words: readonly string[], beside?: readonly string[]) => void,
    chinese: string,
    english: Translation,
  ): void {
    const [first = [], ...rest] = english
    add(first, bigrams(chinese))
    for (const words of rest) add(words)
  }

  #withSynonyms(words: readonly string[], beside: readonly string[]): Wanted {
    const wanted = new Map<string, number>()
    const put = (word: string, weight: number): void => {
      if ((wanted.get(word) ?? 0) < weight) wanted.set(word, weight)
    }
    for (const word of beside) put(word, HAN_WEIGHT)
    for (const word of words) {
      put(word, 1)
      for (const [other, weight] of this.#tables.near.get(word) ?? []) put(other, weight)
    }
    return wanted
  }

  /** Parts of a run of Han characters: the longest entries of the glossary, and the text between them. */
  #translated(run: string): { readonly chinese: string; readonly english: Translation }[] {
    const parts: { chinese: string; english: Translation }[] = []
    let unknown = ''
    const flush = (): void => {
      if (unknown.length > 1) parts.push({ chinese: unknown, english: [] })
      unknown = ''
    }
    for (let at = 0; at < run.length; ) {
      const entry = this.#entryAt(run, at)
      if (entry === undefined) {
        unknown += run[at]
        at += 1
        continue
      }
      flush()
      // Words with only a grammatical function are left out.
      const english = this.#tables.glossary.get(entry) ?? []
      if (english.length > 0) parts.push({ chinese: entry, english })
      at += entry.length
    }
    flush()
    return parts
  }

  #entryAt(run: string, at: number): string | undefined {
    for (let length = Math.min(this.#tables.longest, run.length - at); length > 0; length -= 1) {
      const piece = run.slice(at, at + length)
      if (this.#tables.glossary.has(piece)) return piece
    }
    return undefined
  }

  /** `get rid of a label` is `delete a label`. */
  #withoutPhrases(text: string): string {
    const meanings: Readonly<Record<string, string>> = lists.phrases
    return text.replaceAll(/\s+/g, ' ').replace(this.#tables.phrase, phrase => meanings[phrase] ?? phrase)
  }

  #push(found: string[], word: string): void {
    if (!this.#tables.stop.has(word)) found.push(word)
  }
}

function readTables(): Tables {
  const phrases = Object.keys(lists.phrases).toSorted((one, other) => other.length - one.length)
  const near = new Map<string, Map<string, number>>()
  for (const group of lists.near) relate(near, group, NEAR_WEIGHT)
  for (const group of lists.same) relate(near, group, SAME_WEIGHT)
  const entries = Object.entries({ ...glossary, ...spoken }).map(
    ([chinese, english]) => [chinese, translationOf(english)] as const,
  )
  return {
    stop: new Set(lists.stop.split(' ').map(stem)),
    near,
    glossary: new Map(entries),
    longest: Math.max(...entries.map(([chinese]) => chinese.length)),
    phrase: new RegExp(`\\b(?:${phrases.join('|')})\\b`, 'g'),
  }
}

function relate(near: Map<string, Map<string, number>>, group: string, weight: number): void {
  const words = group.split(' ').map(stem)
  for (const word of words) {
    const related = near.get(word) ?? new Map<string, number>()
    for (const other of words) if (other !== word) related.set(other, Math.max(weight, related.get(other) ?? 0))
    near.set(word, related)
  }
}

/**
 * Separates Han characters from other words, without parts that are not meaningful: single letters, and numbers between Chinese
 * words.
 */
function partsOf(run: string): readonly string[] {
  const parts = run.match(HAN_OR_WORD) ?? [run]
  return parts.filter(part => !/^[a-z]$/.test(part) && (part === run || !/^\p{N}+$/u.test(part)))
}

/** In one form of Unicode, with the words of names apart: `getUserID`, `get_user` and `HTTPServer` have two each. */
function spread(text: string): string {
  return normalForm(text, 'NFKC')
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
}

/** `line+chart graph` means `line`, and one of `chart` and `graph`; `dialog popup` means either. */
function translationOf(english: string): Translation {
  if (english === '') return []
  const [joined = '', ...others] = english.split(' ')
  const parts = joined.split('+').map(word => [stem(word)])
  return [...parts.slice(0, -1), [...(parts.at(-1) ?? []), ...others.map(stem)]]
}

function bigrams(run: string): string[] {
  const characters = [...run]
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`)
}

/** A word without its ending: a light stem, which has only to be the same for the forms of one word. */
export function stem(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word
  const spelt = word.replace(/is(?=(?:e|ed|es|ing|ation)$)/, 'iz')
  return withoutEnd(withoutPlural(spelt)).replace(/([bdfgklmnprtz])\1$/, '$1')
}

function withoutPlural(word: string): string {
  if (/(?:ss|us|is)$/.test(word)) return word
  if (/ies$/.test(word)) return `${word.slice(0, -3)}y`
  if (/(?:x|ch|sh|ss|z)es$/.test(word)) return word.slice(0, -2)
  return word.endsWith('s') ? word.slice(0, -1) : word
}

function withoutEnd(word: string): string {
  const noun = word.match(/^(.{5,})(?:(?<=[st])ion|ment)$/)?.[1]
  if (noun !== undefined) return noun
  const rest = /ied$/.test(word) ? `${word.slice(0, -3)}y` : word.replace(/(?:ing|ed|e)$/, '')
  return rest.length >= 3 ? rest : word
}
