import type { FieldCode } from '../contract/errors.ts'

export type NameKind = 'server' | 'group' | 'user' | 'alias'

/** A name as it is kept (NFC), and the form on which uniqueness is judged. */
export interface CheckedName {
  readonly name: string
  readonly key: string
}

export interface NameProblem {
  readonly code: Extract<FieldCode, 'type' | 'name_invalid' | 'name_reserved'>
  readonly detail: string
}

/** Longest name, in code points after NFC. */
export const NAME_CHARACTERS = 64

// Digits are those with which numbers are written (Nd): circled, superscript and Roman ones are compatibility forms of others.
// Default-ignorable code points are letters to Unicode in part (Hangul fillers), yet nobody sees them.
const THING = /^(?!\p{M})(?:(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{Nd} _.-])+$/u
const USER = /^(?!\p{M})(?:(?!\p{Default_Ignorable_Code_Point})[\p{L}\p{M}\p{Nd}_.-])+$/u
const NEVER = new Set(['.', '..', '__proto__'])

/** Brings a name to NFC and judges it. Never throws; the detail is a sentence for the person who wrote the name. */
export function checkName(kind: NameKind, input: unknown): CheckedName | NameProblem {
  if (typeof input !== 'string') return { code: 'type', detail: `A ${kind} name is a string` }
  const name = input.normalize('NFC')
  const shown = quoteName(name)
  if (/^[@$]/.test(name)) return { code: 'name_reserved', detail: `The name ${shown} begins with a reserved character` }
  const length = [...name].length
  if (length === 0 || length > NAME_CHARACTERS) {
    return { code: 'name_invalid', detail: `A ${kind} name has 1 to ${NAME_CHARACTERS} characters, this one ${length}` }
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

export function isNameProblem(result: CheckedName | NameProblem): result is NameProblem {
  return 'code' in result
}

/**
 * The NFKC case-folded form: equal for names that people take for the same. ECMAScript has no case folding; upper and then
 * lower case folds the letters that the alphabet of names can hold (ß like ss, ς like σ), repeated until nothing changes.
 */
export function nameKey(name: string): string {
  // No name has these, and not every database takes them, be it only to look for them.
  let key = name.toWellFormed().replaceAll('\0', '\ufffd')
  for (let round = 0; round < 4; round += 1) {
    const next = key.normalize('NFKC').toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFKC')
    if (next === key) break
    key = next
  }
  return key
}

/** A plain name, or one that names its owner. */
export interface ParsedRef {
  readonly owner: string | undefined
  readonly name: string
}

/** `name` or `owner~name`; `~` cannot occur in names, so the first one divides. */
export function parseRef(ref: string): ParsedRef {
  const at = ref.indexOf('~')
  return at < 0 ? { owner: undefined, name: ref } : { owner: ref.slice(0, at), name: ref.slice(at + 1) }
}

export function formatRef(owner: string, name: string): string {
  return `${owner}~${name}`
}

/** A value in double quotes for a message, cut after 64 characters, control characters escaped. */
export function quoteName(value: string): string {
  const characters = [...value]
  return JSON.stringify(characters.length > 64 ? `${characters.slice(0, 64).join('')}…` : value)
}
