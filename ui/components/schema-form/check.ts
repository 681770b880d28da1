import type { FieldProblem } from '../../api/problem.ts'
import { plural, t } from '../../text/t.ts'
import { isObject, type JsonSchema, type Path, pointerOf } from './json-value.ts'
import { DEEPEST, type FieldKind, propertiesOf, type Resolved, type SchemaReader } from './schema.ts'

/** Number of values that one check reads; further ones are left to the server. */
const MOST_VALUES = 5000
const MOST_PROBLEMS = 100
/** Depth of choices within choices that are checked. */
const MOST_NESTED = 4

/** Errors of a value by a schema, as far as a form can determine them; the server decides. */
export function problemsOf(reader: SchemaReader, schema: unknown, value: unknown): readonly FieldProblem[] {
  const check = new Check(reader)
  check.value(schema, value, [])
  return check.problems
}

const objectMistake = (_: JsonSchema, value: unknown): string | undefined =>
  isObject(value) ? undefined : t('An object is needed here.')

const MISTAKES: Readonly<Partial<Record<FieldKind, (schema: JsonSchema, value: unknown) => string | undefined>>> = {
  text: textMistake,
  number: (schema, value) => numberMistake(schema, 'number', value),
  integer: (schema, value) => numberMistake(schema, 'integer', value),
  boolean: (_, value) => (typeof value === 'boolean' ? undefined : t('Choose true or false.')),
  enum: (schema, value) => ((schema.enum as unknown[]).includes(value) ? undefined : t('Choose one of the values.')),
  array: listMistake,
  object: objectMistake,
  map: objectMistake,
}

class Check {
  readonly problems: FieldProblem[] = []
  readonly #reader: SchemaReader
  readonly #budget: { left: number }
  readonly #nesting: number

  /** `nesting`: number of choices around this check; they share one budget, since their branches multiply. */
  constructor(reader: SchemaReader, budget = { left: MOST_VALUES }, nesting = 0) {
    this.#reader = reader
    this.#budget = budget
    this.#nesting = nesting
  }

  value(part: unknown, value: unknown, path: Path): void {
    if (this.#budget.left-- <= 0 || this.problems.length >= MOST_PROBLEMS || path.length > DEEPEST * 2) return
    const resolved = this.#reader.read(part)
    if (value === null && resolved.nullable) return
    const detail = this.#mistake(resolved, value)
    if (detail) this.#add(path, detail)
    else if (resolved.kind === 'object' || resolved.kind === 'map') this.#object(resolved.schema, value, path)
    else if (resolved.kind === 'array' && Array.isArray(value))
      value.forEach((one, at) => {
        this.value(resolved.schema.items, one, [...path, at])
      })
  }

  #add(path: Path, detail: string): void {
    this.problems.push({ pointer: pointerOf(path), code: 'schema', detail })
  }

  #mistake({ schema, kind, branches }: Resolved, value: unknown): string | undefined {
    if (kind === 'choice') return this.#fits(branches, value) ? undefined : t('This fits none of the shapes.')
    return MISTAKES[kind]?.(schema, value)
  }

  #object(schema: JsonSchema, value: unknown, path: Path): void {
    if (!isObject(value)) return
    const known = propertiesOf(schema)
    for (const { name, schema: part, required } of known) {
      const given = Object.hasOwn(value, name) ? value[name] : undefined
      if (given !== undefined) this.value(part, given, [...path, name])
      else if (required) this.#add([...path, name], t('This field is required.'))
    }
    const names = new Set(known.map(({ name }) => name))
    for (const [name, given] of Object.entries(value)) {
      if (names.has(name)) continue
      if (schema.additionalProperties === false) this.#add([...path, name], t('There is no field of this name.'))
      else if (isObject(schema.additionalProperties)) this.value(schema.additionalProperties, given, [...path, name])
    }
  }

  #fits(branches: readonly JsonSchema[], value: unknown): boolean {
    if (this.#nesting >= MOST_NESTED) return true
    return branches.some(branch => {
      const check = new Check(this.#reader, this.#budget, this.#nesting + 1)
      check.value(branch, value, [])
      return check.problems.length === 0
    })
  }
}

/** True when a value has no error by a schema. */
export function fits(reader: SchemaReader, schema: unknown, value: unknown): boolean {
  return problemsOf(reader, schema, value).length === 0
}

function textMistake(schema: JsonSchema, value: unknown): string | undefined {
  if (typeof value !== 'string') return t('A text is needed here.')
  const { minLength, maxLength, format, pattern } = schema
  const length = [...value.slice(0, 1_000_000)].length
  if (typeof minLength === 'number' && length < minLength)
    return plural(minLength, 'At least {n} character is needed.', 'At least {n} characters are needed.')
  if (typeof maxLength === 'number' && length > maxLength)
    return plural(maxLength, 'At most {n} character is allowed.', 'At most {n} characters are allowed.')
  if (typeof format === 'string' && value !== '') return formatMistake(format, value)
  if (typeof pattern === 'string' && violates(pattern, value)) return t('This must match {pattern}', { pattern })
  return undefined
}

function formatMistake(format: string, value: string): string | undefined {
  if ((format === 'uri' || format === 'url') && !URL.canParse(value))
    return t('A whole address is needed, such as https://example.com/.')
  if (format === 'email' && !/^[^\s@]+@[^\s@]+$/.test(value)) return t('This is no mail address.')
  if (format === 'date' && !/^\d{4}-\d\d-\d\d$/.test(value)) return t('A date is needed, such as 2026-10-13.')
  if (format === 'date-time' && Number.isNaN(Date.parse(value)))
    return t('A time is needed, such as 2026-10-13T14:30:00Z.')
  if (format === 'uuid' && !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value)) return t('This is no UUID.')
  return undefined
}

/**
 * A pattern comes from a server and may take forever: only short texts are matched, by patterns without repeated groups and with
 * few repetitions, whose work is bounded by a small power of the length.
 */
function violates(pattern: string, value: string): boolean {
  const repetitions = pattern.match(/[*+]|\{\d+,\d*\}/g)?.length ?? 0
  if (pattern.length > 200 || value.length > 200 || repetitions > 3 || /\)[*+?{]/.test(pattern)) return false
  try {
    return !new RegExp(pattern, 'u').test(value)
  } catch {
    return false
  }
}

function numberMistake(schema: JsonSchema, kind: 'number' | 'integer', value: unknown): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return t('A number is needed here.')
  if (kind === 'integer' && !Number.isInteger(value)) return t('A whole number is needed here.')
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  if (typeof minimum === 'number' && value < minimum) return t('At least {n} is needed.', { n: minimum })
  if (typeof maximum === 'number' && value > maximum) return t('At most {n} is allowed.', { n: maximum })
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum)
    return t('More than {n} is needed.', { n: exclusiveMinimum })
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum)
    return t('Less than {n} is needed.', { n: exclusiveMaximum })
  if (
    typeof multipleOf === 'number' &&
    multipleOf > 0 &&
    Math.abs(value / multipleOf - Math.round(value / multipleOf)) > 1e-9
  )
    return t('A multiple of {n} is needed.', { n: multipleOf })
  return undefined
}

function listMistake(schema: JsonSchema, value: unknown): string | undefined {
  if (!Array.isArray(value)) return t('A list is needed here.')
  const { minItems, maxItems } = schema
  if (typeof minItems === 'number' && value.length < minItems)
    return plural(minItems, 'At least {n} entry is needed.', 'At least {n} entries are needed.')
  if (typeof maxItems === 'number' && value.length > maxItems)
    return plural(maxItems, 'At most {n} entry is allowed.', 'At most {n} entries are allowed.')
  return undefined
}
