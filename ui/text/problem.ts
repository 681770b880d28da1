import type { ApiError, FieldProblem } from '../api/problem.ts'
import { pluginWord } from './plugin-words.ts'

/**
 * Texts of the hub's errors in a language other than its own, by their codes. `{name}` is a place for a member of the problem,
 * `{detail}` for the hub's sentence; a part in brackets is left out if one of its values is missing.
 */
export interface ProblemTexts {
  readonly titles: Readonly<Record<string, string>>
  readonly hints: Readonly<Record<string, string>>
  readonly fields: Readonly<Record<string, string>>
}

/** An error as answers, states of servers and their problems have it. */
export interface Problem {
  readonly code: string
  readonly message: string
  readonly hint?: string | undefined
  readonly body?: Readonly<Record<string, unknown>>
}

let texts: ProblemTexts | undefined

/** Sets the texts of the present language; undefined for the hub's own language. */
export function useProblemTexts(given: ProblemTexts | undefined): void {
  texts = given
}

/** Text of an error in the language of the page; for a code without a text, the hub's own sentence. */
export function problemText({ code, message, body = {} }: Problem): string {
  const text = texts?.titles[code]
  if (text !== undefined) return fill(text, { ...body, detail: message })
  return (texts && ofPlugin(message, body.title)) ?? message
}

/** Advice about an error, in the language of the page. */
export function hintText({ code, hint }: Pick<Problem, 'code' | 'hint'>): string | undefined {
  return texts?.hints[code] ?? (texts && pluginWord(hint)) ?? hint
}

/** Text of an error with the advice, in one line. */
export function problemLine(problem: Problem): string {
  const parts = [problemText(problem), hintText(problem)].filter(part => part !== undefined)
  return parts.join(texts ? '。' : '. ')
}

/** Error of a field, in the language of the page. */
export function fieldText({ code, detail }: Pick<FieldProblem, 'code' | 'detail'>): string {
  const text = texts?.fields[code]
  return text === undefined ? ((texts && pluginWord(code)) ?? detail) : fill(text, { detail })
}

/** At most three invalid fields, each after its name; undefined in the hub's own language, whose sentence names them. */
export function fieldsText({ fields }: Pick<ApiError, 'fields'>): string | undefined {
  if (!texts || fields.length === 0) return undefined
  const named = fields.slice(0, 3).map(field => {
    const name = field.pointer.replace(/^[#?]\/?/, '')
    return name === '' ? fieldText(field) : `${name} ${fieldText(field)}`
  })
  return `${named.join('；')}${fields.length > named.length ? '…' : ''}`
}

/** The hub's own sentences, if the translated text lacks the details in them. */
export function ownWords({ code, message, hint, body = {} }: Problem): string | undefined {
  const text = texts?.titles[code]
  if (text === undefined || text.includes('{detail}') || message === body.title) return undefined
  return [message, hint].filter(part => part !== undefined).join('\n')
}

/** A plugin's own message, or the title of its error with the message behind it. */
function ofPlugin(message: string, title: unknown): string | undefined {
  const whole = pluginWord(message)
  if (whole !== undefined) return whole
  const named = typeof title === 'string' ? pluginWord(title) : undefined
  return named === undefined || message === title ? named : `${named}（${message}）`
}

function fill(text: string, values: Readonly<Record<string, unknown>>): string {
  const known = (name: string): boolean => shown(values[name]) !== ''
  const whole = text.replace(/\[([^\]]*)\]/g, (_, part: string) =>
    [...part.matchAll(/\{(\w+)\}/g)].every(([, name = '']) => known(name)) ? part : '',
  )
  return whole.replace(/\{(\w+)\}/g, (_, name: string) => shown(values[name]))
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.map(shown).join('、')
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
