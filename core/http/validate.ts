import { z } from 'zod'
import type { FieldCode, FieldError } from '../contract/errors.ts'
import { pointerToken } from '../domain/json/json-pointer.ts'
import { nearest, SUGGESTIONS } from '../domain/nearest.ts'
import { wordIn } from '../domain/spelling/words.ts'
import { MOST_ERRORS } from '../domain/validation-error.ts'
import { wordsFor } from './issue-words.ts'

type Where = 'query' | 'params' | 'body'

/** The validated value, or all errors found. */
export type Checked = { readonly value: unknown } | { readonly errors: readonly FieldError[] }

/**
 * Validates one part of a request by its schema. All invalid fields are reported, with the hub's own codes. An object
 * schema without a rule for unknown keys rejects them: see {@link closed}.
 */
export function check(schema: z.ZodType, input: unknown, where: Where): Checked {
  const parse = (given: unknown) => schema.safeParse(given, { error: issue => wordsFor(issue) })
  const first = parse(input)
  const known = first.success ? undefined : withKnownWords(input, first.error.issues)
  const result = known === undefined ? first : parse(known.input)
  if (result.success) return { value: result.data }
  return { errors: result.error.issues.flatMap(issue => fieldErrors(issue, input, where, schema)) }
}

/** The schema with unknown keys rejected, unless it has its own rule for them. */
export function closed(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return closed(schema.unwrap() as z.ZodType).optional()
  if (!(schema instanceof z.ZodObject) || schema.def.catchall !== undefined) return schema
  // The metadata of a schema is not copied by `strict()`.
  const about = schema.meta()
  return about === undefined ? schema.strict() : schema.strict().meta(about)
}

/**
 * Errors of a query as a whole: invalid escapes, bytes that are not UTF-8, NUL, and duplicates of parameters that are no list in
 * the route's schema.
 */
export function queryProblems(
  query: string,
  given: Readonly<Record<string, string | string[]>>,
  schema?: z.ZodType,
): FieldError[] {
  const misspelt = query.includes('%') ? misspeltParameters(query) : []
  if (misspelt.length > 0) return misspelt
  return Object.keys(given)
    .filter(name => Array.isArray(given[name]) && !takesMany(schema, name))
    .map(name => ({ pointer: pointerOf([name], 'query'), code: 'duplicate', detail: `${shown(name)} is given twice` }))
}

function takesMany(schema: z.ZodType | undefined, name: string): boolean {
  const field: unknown = schema instanceof z.ZodObject ? schema.shape[name] : undefined
  const inner = field instanceof z.ZodOptional ? field.unwrap() : field
  return inner instanceof z.ZodPipe && inner.out instanceof z.ZodArray
}

function misspeltParameters(query: string): FieldError[] {
  const detail = 'Encode it as UTF-8, each special byte as "%" and two hexadecimal digits; NUL is not taken'
  return query.split('&').flatMap(part => {
    if (isCleanlyEncoded(part)) return []
    const [name = ''] = part.split('=')
    const known = isCleanlyEncoded(name) ? decodeURIComponent(name) : name
    return [{ pointer: pointerOf([known], 'query'), code: 'format' as const, detail }]
  })
}

function isCleanlyEncoded(text: string): boolean {
  if (!text.includes('%')) return true
  try {
    return !decodeURIComponent(text).includes('\0')
  } catch {
    return false
  }
}

/** A query as an object: a repeated parameter is an array. */
export function queryObject(query: string): Record<string, string | string[]> {
  const found: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of new URLSearchParams(query)) {
    const before = found[name]
    if (before === undefined) found[name] = value
    else if (Array.isArray(before)) before.push(value)
    else found[name] = [before, value]
  }
  return found
}

type Issue = z.core.$ZodIssue

/**
 * The input with words of enumerations in the schema's spelling, if a text means one of them (see `wordIn`). Undefined if there
 * is nothing to respell. The input itself is unchanged.
 */
function withKnownWords(input: unknown, issues: readonly Issue[]): { readonly input: unknown } | undefined {
  const words = issues.flatMap(issue => knownWords(issue, input, []))
  if (words.length === 0) return undefined
  const holder = { input }
  for (const { path, word } of words) setAt(holder, ['input', ...path], word)
  return holder
}

type Path = readonly PropertyKey[]

function knownWords(issue: Issue, input: unknown, at: Path): { readonly path: Path; readonly word: string }[] {
  const path = [...at, ...issue.path]
  if (issue.code === 'invalid_union') return issue.errors.flat().flatMap(each => knownWords(each, input, path))
  const text = issue.code === 'invalid_value' ? valueAt(input, path) : undefined
  if (issue.code !== 'invalid_value' || typeof text !== 'string') return []
  const word = wordIn(
    issue.values.filter(value => typeof value === 'string'),
    text,
  )
  return word === undefined ? [] : [{ path, word }]
}

/** Sets one value; the objects and arrays on the way to it are copied, and nothing else. */
function setAt(holder: Record<PropertyKey, unknown>, path: Path, word: string): void {
  let at = holder
  for (const part of path.slice(0, -1)) {
    const inner = at[part]
    const copy = Array.isArray(inner) ? [...inner] : { ...(inner as object) }
    at[part] = copy
    at = copy as Record<PropertyKey, unknown>
  }
  at[path.at(-1) as PropertyKey] = word
}

function fieldErrors(issue: Issue, input: unknown, where: Where, schema: z.ZodType): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    const known = schema instanceof z.ZodObject && issue.path.length === 0 ? Object.keys(schema.shape) : []
    return issue.keys
      .slice(0, MOST_ERRORS)
      .map((key, index) => unknownField(key, [...issue.path, key], where, index < SUGGESTIONS ? known : []))
  }
  const pointer = pointerOf(issue.path, where)
  const code = codeOf(issue, valueAt(input, issue.path))
  const name = shown(issue.path.at(-1)) ?? 'The body'
  const detail = code === 'required' ? `${name} is required` : `${name}: ${issue.message}`
  return [{ pointer, code, detail }]
}

function unknownField(key: string, path: readonly PropertyKey[], where: Where, known: readonly string[]): FieldError {
  const meant = nearest(key, known)
  const kind = where === 'query' ? 'query parameter' : 'field'
  return {
    pointer: pointerOf(path, where),
    code: 'unknown_field',
    detail: `There is no ${kind} ${shown(key)}${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
  }
}

function codeOf(issue: Issue, value: unknown): FieldCode {
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined ? 'required' : 'type'
    case 'too_big':
    case 'too_small':
      return ['string', 'array', 'set', 'map', 'file'].includes(issue.origin) ? 'length' : 'range'
    case 'not_multiple_of':
      return 'range'
    case 'invalid_value':
      if (value === undefined) return 'required'
      return typeof value === typeof issue.values[0] ? 'enum' : 'type'
    case 'invalid_union':
      return value === undefined ? 'required' : 'type'
    case 'custom':
      return typeof issue.params?.code === 'string' ? (issue.params.code as FieldCode) : 'format'
    case 'invalid_format':
    case 'invalid_key':
      return 'format'
    default:
      return 'type'
  }
}

function pointerOf(path: readonly PropertyKey[], where: Where): string {
  if (where === 'query') return `?${String(path[0] ?? '')}`.slice(0, 65)
  if (where === 'params') return `{${String(path[0] ?? '')}}`
  return `#${path.map(part => `/${pointerToken(String(part)).slice(0, 64)}`).join('')}`
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<PropertyKey, unknown>)[part]
  }
  return value
}

function shown(part: PropertyKey | undefined): string | undefined {
  return part === undefined ? undefined : JSON.stringify(String(part).slice(0, 64))
}
