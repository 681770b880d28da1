import type { FieldCode } from '../contract/errors.ts'
import { normalForm } from '../transport-kit/normal-form.ts'
import { visibleName } from './text/visible-text.ts'

/** Kinds of names; names of users have further rules. */
export type NameKind = 'server' | 'group' | 'user' | 'alias' | 'team' | 'tag'

/** A name as stored (NFC), and the key that must be unique. */
export interface CheckedName {
  readonly name: string
  readonly key: string
}

/** Why a name is invalid; `detail` is a sentence for people. */
export interface NameProblem {
  readonly code: Extract<FieldCode, 'type' | 'name_invalid' | 'name_reserved'>
  readonly detail: string
}

/** Longest name, in code points after NFC. */
export const NAME_CHARACTERS = 64
/** Longest tag, in code points after NFC. */
export const TAG_CHARACTERS = 32
/** Longest text that is normalized to check whether it is a name, in UTF-16 code units. */
const MOST_UNITS = 16 * NAME_CHARACTERS

// Only decimal digits (Nd): circled, superscript and Roman ones are compatibility forms of others. Unicode counts
// some default-ignorable code points as letters (Hangul fillers), but they are invisible.
const THING = /^(?!\p{M})(?:(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{Nd} _.-])+$/u
const USER = /^(?!\p{M})(?:(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{Nd}_.-])+$/u
const NEVER = new Set(['.', '..', '__proto__'])

/** Normalizes a name to NFC and validates it. Never throws; the detail is written for the person who chose the name. */
export function checkName(kind: NameKind, input: unknown): CheckedName | NameProblem {
  if (typeof input !== 'string') return { code: 'type', detail: `A ${kind} name is a string` }
  // NFC makes one character of at most a few: a much longer text is not a name, and is not normalized.
  const name = input.length > MOST_UNITS ? input : normalForm(input, 'NFC')
  const shown = quoteName(name)
  if (/^[@$]/.test(name)) return { code: 'name_reserved', detail: `The name ${shown} begins with a reserved character` }
  const length = name.length > MOST_UNITS ? name.length : [...name].length
  const most = kind === 'tag' ? TAG_CHARACTERS : NAME_CHARACTERS
  if (length === 0 || length > most) {
    return { code: 'name_invalid', detail: `A ${kind} name has 1 to ${most} characters, this one ${length}` }
  }
  if (name.trim() !== name) return { code: 'name_invalid', detail: `The name ${shown} begins or ends with a space` }
  const user = kind === 'user'
  if (!(user ? USER : THING).test(name)) {
    const alphabet = user ? 'letters, digits, "_", "-" and "."' : 'letters, digits, spaces, "_", "-" and "."'
    return { code: 'name_invalid', detail: `The name ${shown} may hold ${alphabet} only` }
  }
  const key = nameKey(name)
  if (NEVER.has(key)) return { code: 'name_invalid', detail: `The name ${shown} cannot be used` }
  return { name, key }
}

/** True when a result of `checkName` is a problem. */
export function isNameProblem(result: CheckedName | NameProblem): result is NameProblem {
  return 'code' in result
}

const FOLDED_UNITS = 4096

/**
 * The NFKC case-folded form, equal for names that people consider the same. ECMAScript has no case folding; upper and then lower
 * case folds all letters allowed in names (ß like ss, ς like σ), repeated until nothing changes. The text after the first 4,096
 * code units is unchanged: no valid name is so long, and folding may make a text 18 times as long.
 */
export function nameKey(name: string): string {
  // No valid name has these, and not every database accepts them, even in a query.
  const text = name.toWellFormed().replaceAll('\0', '\ufffd')
  return `${folded(text.slice(0, FOLDED_UNITS))}${text.slice(FOLDED_UNITS)}`
}

function folded(text: string): string {
  let key = text
  for (let round = 0; round < 4; round += 1) {
    const upper = normalForm(key, 'NFKC').toUpperCase()
    const next = normalForm(upper.toLowerCase().replaceAll('ς', 'σ'), 'NFKC')
    if (next === key) break
    key = next
  }
  return key
}

/** A name, with its owner if the reference has one. */
export interface ParsedRef {
  readonly owner: string | undefined
  readonly name: string
}

/** Splits `name` or `owner~name`; names cannot contain `~`, so the first one separates. */
export function parseRef(ref: string): ParsedRef {
  const at = ref.indexOf('~')
  return at < 0 ? { owner: undefined, name: ref } : { owner: ref.slice(0, at), name: ref.slice(at + 1) }
}

/** `owner~name`, the form that is unique in the hub. */
export function formatRef(owner: string, name: string): string {
  return `${owner}~${name}`
}

/** A value in double quotes for a message, truncated after 64 characters, hidden characters shown. */
export function quoteName(value: string): string {
  // 65 code points are at most 130 code units: a long text is not divided as a whole.
  const characters = [...value.slice(0, 130)]
  return JSON.stringify(visibleName(characters.length > 64 ? `${characters.slice(0, 64).join('')}…` : value))
}
