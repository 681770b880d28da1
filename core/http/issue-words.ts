import type { z } from 'zod'
import type { JsonValue } from '../contract/json.ts'
import { aKind } from '../domain/json/fields.ts'

/** Describes a schema error, to be appended to the value's name: `must be a string, not a number`. */
export function wordsFor(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      // JSON has no infinite number, but a number may be too large.
      if (typeof issue.input === 'number' && Math.abs(issue.input) === Number.POSITIVE_INFINITY)
        return 'must be a number within ±1.8e308'
      if (Number.isNaN(issue.input)) return 'must be a whole number in decimal digits'
      return `must be ${KINDS[issue.expected] ?? 'of another type'}${instead(issue.input, issue.expected)}`
    case 'too_small':
      return `must ${bound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', Number(issue.minimum))}`
    case 'too_big':
      return `must ${bound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', Number(issue.maximum))}`
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'invalid_value':
      return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(value => JSON.stringify(value)).join(', ')}`
    case 'invalid_format':
      return `must be ${FORMATS[issue.format] ?? 'of another form'}`
    case 'invalid_key':
      return issue.issues.map(({ message }) => message).join('; ')
    case 'invalid_union':
      return 'has none of the forms that are taken'
    default:
      return 'is not taken here'
  }
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'an ISO 8601 time',
  url: 'a URL',
  uuid: 'a UUID',
  safeint: 'a whole number of at most 15 digits',
}

function instead(input: unknown, expected: string): string {
  // For a required integer, `a number` as the type given would not explain the error.
  return expected === 'int' || input === undefined ? '' : `, not ${aKind(input as JsonValue)}`
}

function bound(origin: string, comparison: string, limit: number): string {
  if (origin === 'string') return `have ${comparison} ${limit} ${limit === 1 ? 'character' : 'characters'}`
  if (['array', 'set', 'map'].includes(origin))
    return `have ${comparison} ${limit} ${limit === 1 ? 'entry' : 'entries'}`
  return `be ${comparison} ${limit}`
}
