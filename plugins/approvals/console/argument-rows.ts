import type { ArgumentCondition, Scalar } from './api.ts'

/** Comparisons of an argument, as the forms offer them. */
export const OPERATORS = ['eq', 'in', 'gt', 'gte', 'lt', 'lte', 'contains', 'prefix', 'given', 'missing'] as const
export type Operator = (typeof OPERATORS)[number]

/** A condition about an argument as one row of a form. */
export interface ArgumentRow {
  readonly pointer: string
  readonly operator: Operator
  readonly value: string
}

/** Rows of stored conditions; a condition with several members has several rows. */
export function rowsOf(conditions: Readonly<Record<string, ArgumentCondition>>): readonly ArgumentRow[] {
  return Object.entries(conditions).flatMap(([pointer, condition]) =>
    Object.entries(condition).map(([member, value]): ArgumentRow => {
      if (member === 'exists') return { pointer, operator: value === true ? 'given' : 'missing', value: '' }
      return { pointer, operator: member as Operator, value: textOf(member, value) }
    }),
  )
}

/** Conditions of rows. Of two rows with the same argument and comparison the second one counts. */
export function conditionsOf(rows: readonly ArgumentRow[]): Readonly<Record<string, ArgumentCondition>> {
  const all = new Map<string, ArgumentCondition>()
  for (const { pointer, operator, value } of rows)
    all.set(pointer, { ...all.get(pointer), ...memberOf(operator, value) })
  return Object.fromEntries(all)
}

/** Index of a row that repeats an earlier one; -1: none does. */
export function repeatedRow(rows: readonly ArgumentRow[]): number {
  const member = ({ operator }: ArgumentRow): string =>
    operator === 'given' || operator === 'missing' ? 'exists' : operator
  return rows.findIndex((row, at) =>
    rows.slice(0, at).some(other => other.pointer === row.pointer && member(other) === member(row)),
  )
}

/** The member of a condition that a row sets. */
export function memberName(operator: Operator): keyof ArgumentCondition {
  return operator === 'given' || operator === 'missing' ? 'exists' : operator
}

function memberOf(operator: Operator, value: string): ArgumentCondition {
  switch (operator) {
    case 'given':
      return { exists: true }
    case 'missing':
      return { exists: false }
    case 'contains':
    case 'prefix':
      return { [operator]: value }
    case 'eq':
      return { eq: scalarOf(value) }
    case 'in':
      return { in: listOf(value) }
    default:
      // A value that is no number stays a text, so that the hub names the field.
      return {
        [operator]: value.trim() === '' || !Number.isFinite(Number(value)) ? value : Number(value),
      } as ArgumentCondition
  }
}

/** A JSON value where the text is one, such as `100` or `"100"`; otherwise the text. */
function scalarOf(text: string): Scalar {
  const parsed = parsedOf(text)
  if (typeof parsed === 'number' && !Number.isFinite(parsed)) return text
  return parsed === undefined || (typeof parsed === 'object' && parsed !== null) ? text : (parsed as Scalar)
}

function listOf(text: string): readonly Scalar[] {
  const parsed = parsedOf(text)
  if (Array.isArray(parsed)) return parsed as readonly Scalar[]
  return text
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
    .map(scalarOf)
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function textOf(member: string, value: unknown): string {
  if (member === 'in') {
    const items = value as readonly Scalar[]
    const texts = items.map(scalarText)
    const isPlain = texts.every(text => !text.includes(',') && text.trim() === text)
    const text = texts.join(', ')
    return isPlain && !Array.isArray(parsedOf(text)) ? text : JSON.stringify(items)
  }
  return member === 'eq' ? scalarText(value as Scalar) : String(value)
}

/** Text that {@link scalarOf} reads as the same value. */
function scalarText(value: Scalar): string {
  if (typeof value !== 'string') return String(value)
  return scalarOf(value) === value && value !== '' ? value : JSON.stringify(value)
}
