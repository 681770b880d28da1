import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, JsonValue } from 'patchbay/contract'
import { isObject, numberOf } from '../values.ts'
import { hasFormat } from './formats.ts'

/** Highest number of errors in one message; a model that fixes these gets the others at its next attempt. */
const MAX_FAULTS = 8
/** Highest number of schemas that are applied to the arguments of one call. The API validates further ones itself. */
const MAX_STEPS = 20_000
const MAX_DEPTH = 64
const SHOWN = 64

/** One argument, or a part of one, that violates the tool's input schema. */
export interface Fault {
  /** `body.items[2].size` */
  readonly at: string
  readonly why: string
}

/**
 * Validates arguments against the input schema of their tool: type, enum, const, required, properties, items, ranges,
 * lengths, format, and combinations of these. At most eight faults; none when the arguments are valid.
 *
 * Nothing is compiled and no text of the document is run: `pattern` and `patternProperties` are not tested, since a
 * foreign regular expression can block the thread, nor are `not`, `if`, `contains` and `uniqueItems`. The API validates
 * those.
 */
export function findFaults(schema: JsonObject, given: JsonObject): readonly Fault[] {
  const check = new Check(schema)
  check.value(schema, given, '', 0)
  return check.faults.slice(0, MAX_FAULTS)
}

class Check {
  readonly #definitions: JsonObject
  readonly faults: Fault[] = []
  #steps = MAX_STEPS

  constructor(root: JsonObject) {
    this.#definitions = isObject(root.$defs) ? root.$defs : {}
  }

  value(schema: JsonValue | undefined, value: JsonValue, at: string, depth: number): void {
    this.#steps -= 1
    if (this.#steps < 0 || depth > MAX_DEPTH || this.faults.length >= MAX_FAULTS) return
    if (schema === false) return this.#fault(at, 'has no place here')
    if (!isObject(schema)) return
    if (typeof schema.$ref === 'string') this.value(this.#definition(schema.$ref), value, at, depth + 1)
    const types = typesOf(schema)
    if (types.length > 0 && !types.some(type => hasType(value, type)))
      return this.#fault(at, `must be ${listed(types.map(article))} and is ${shown(value)}`)
    if (!this.#listedValue(schema, value, at)) return
    const number = numberOf(value)
    if (number !== undefined) this.#number(schema, number, value, at)
    else if (typeof value === 'string') this.#string(schema, value, at)
    else if (Array.isArray(value)) this.#list(schema, value, at, depth)
    else if (isObject(value)) this.#object(schema, value, at, depth)
    for (const one of listOf(schema.allOf)) this.value(one, value, at, depth + 1)
    this.#alternatives(listOf(schema.anyOf), value, at, depth)
    // The API checks whether two of them match: documents often have overlapping forms.
    this.#alternatives(listOf(schema.oneOf), value, at, depth)
  }

  #definition(ref: string): JsonValue | undefined {
    const name = ref.replace(/^#\/\$defs\//, '')
    return Object.hasOwn(this.#definitions, name) ? this.#definitions[name] : undefined
  }

  #listedValue({ enum: values, const: only }: JsonObject, value: JsonValue, at: string): boolean {
    if (Array.isArray(values) && !values.some(one => isSame(one, value))) {
      const some = values.slice(0, 20).map(brief).join(', ')
      this.#fault(at, `must be one of ${some}${values.length > 20 ? ', …' : ''} and is ${brief(value)}`)
      return false
    }
    if (only !== undefined && !isSame(only, value)) {
      this.#fault(at, `must be ${brief(only)} and is ${brief(value)}`)
      return false
    }
    return true
  }

  #number(schema: JsonObject, number: number, value: JsonValue, at: string): void {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
    const outside = (wanted: string): void => this.#fault(at, `must be ${wanted} and is ${brief(value)}`)
    if (typeof minimum === 'number' && number < minimum) outside(`at least ${minimum}`)
    else if (typeof maximum === 'number' && number > maximum) outside(`at most ${maximum}`)
    else if (typeof exclusiveMinimum === 'number' && number <= exclusiveMinimum)
      outside(`more than ${exclusiveMinimum}`)
    else if (typeof exclusiveMaximum === 'number' && number >= exclusiveMaximum)
      outside(`less than ${exclusiveMaximum}`)
    // The remainder of fractions is not exact.
    else if (Number.isSafeInteger(multipleOf) && Number.isSafeInteger(number) && number % Number(multipleOf) !== 0)
      outside(`a multiple of ${multipleOf}`)
    else if (schema.format === 'int32' && (number < -(2 ** 31) || number >= 2 ** 31))
      outside('a whole number of 32 bits')
  }

  #string({ minLength, maxLength, format }: JsonObject, value: string, at: string): void {
    // A string has at least half as many characters as UTF-16 units.
    if (typeof maxLength === 'number' && value.length > maxLength && characters(value) > maxLength)
      return this.#fault(at, `must have at most ${maxLength} characters and has ${characters(value)}`)
    if (typeof minLength === 'number' && value.length < 2 * minLength && characters(value) < minLength)
      return this.#fault(at, `must have at least ${minLength} characters and has ${characters(value)}`)
    if (typeof format === 'string' && !hasFormat(value, format))
      this.#fault(at, `must have the format ${brief(format)} and is ${brief(value)}`)
  }

  #list(schema: JsonObject, value: readonly JsonValue[], at: string, depth: number): void {
    const { minItems, maxItems } = schema
    const count = value.length
    if (typeof minItems === 'number' && count < minItems)
      this.#fault(at, `must have at least ${minItems} items and has ${count}`)
    if (typeof maxItems === 'number' && count > maxItems)
      this.#fault(at, `must have at most ${maxItems} items and has ${count}`)
    const first = listOf(schema.prefixItems)
    for (const [index, item] of value.entries()) {
      const own = index < first.length ? first[index] : schema.items
      if (own === undefined) continue
      if (this.#steps < 0 || this.faults.length >= MAX_FAULTS) return
      this.value(own, item, `${at}[${index}]`, depth + 1)
    }
  }

  #object(schema: JsonObject, value: JsonObject, at: string, depth: number): void {
    const properties = isObject(schema.properties) ? schema.properties : {}
    const names = Object.keys(value)
    this.#requiredMembers(schema, value, at)
    this.#memberCount(schema, names.length, at)
    // The patterns are not evaluated here, so other members may match one of them.
    const others = schema.patternProperties === undefined ? schema.additionalProperties : undefined
    for (const name of names) {
      if (this.#steps < 0 || this.faults.length >= MAX_FAULTS) return
      const isKnown = Object.hasOwn(properties, name)
      const own = isKnown ? properties[name] : others
      if (own === false && !isKnown) this.#fault(member(at, name), `is not known; ${knownNames(properties)}`)
      else if (own !== undefined) this.value(own, value[name] ?? null, member(at, name), depth + 1)
    }
  }

  #requiredMembers({ required }: JsonObject, value: JsonObject, at: string): void {
    for (const name of listOf(required)) {
      if (typeof name === 'string' && !Object.hasOwn(value, name)) this.#fault(member(at, name), 'is missing')
    }
  }

  #memberCount({ minProperties, maxProperties }: JsonObject, count: number, at: string): void {
    if (typeof minProperties === 'number' && count < minProperties)
      this.#fault(at, `must have at least ${minProperties} members and has ${count}`)
    if (typeof maxProperties === 'number' && count > maxProperties)
      this.#fault(at, `must have at most ${maxProperties} members and has ${count}`)
  }

  /** Valid when one alternative is; otherwise the faults of the closest one, which has the deepest faults. */
  #alternatives(schemas: readonly JsonValue[], value: JsonValue, at: string, depth: number): void {
    if (schemas.length === 0) return
    const before = this.faults.splice(0)
    let best: readonly Fault[] | undefined
    for (const schema of schemas) {
      this.value(schema, value, at, depth + 1)
      const found = this.faults.splice(0)
      if (found.length === 0 || this.#steps < 0) {
        this.faults.push(...before)
        return
      }
      if (best === undefined || nearness(found) > nearness(best)) best = found
    }
    this.faults.push(...before, ...(best ?? []))
  }

  #fault(at: string, why: string): void {
    this.faults.push({ at, why })
  }
}

function nearness(faults: readonly Fault[]): number {
  return Math.max(...faults.map(({ at }) => at.length)) * 100 - faults.length
}

function typesOf({ type }: JsonObject): readonly string[] {
  return typeof type === 'string' ? [type] : listOf(type).filter(one => typeof one === 'string')
}

function hasType(value: JsonValue, type: string): boolean {
  const number = numberOf(value)
  switch (type) {
    case 'string':
    case 'boolean':
      return typeof value === type
    case 'number':
      return number !== undefined
    case 'integer':
      // Beyond the range of a double every number counts as an integer.
      return number !== undefined && (Number.isInteger(number) || Math.abs(number) === Number.POSITIVE_INFINITY)
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    default:
      return true
  }
}

function isSame(one: JsonValue, other: JsonValue): boolean {
  const number = numberOf(one)
  return number === undefined ? isDeepStrictEqual(one, other) : number === numberOf(other)
}

function shown(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (isObject(value)) return 'an object'
  return `${article(typeof value === 'object' ? 'number' : typeof value)}, ${brief(value)}`
}

function article(type: string): string {
  if (type === 'null') return 'null'
  if (type === 'array') return 'a list'
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`
}

function brief(value: JsonValue): string {
  const text = JSON.stringify(value)
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN).toWellFormed()}…`
}

function knownNames(properties: JsonObject): string {
  const names = Object.keys(properties)
  if (names.length === 0) return 'nothing is'
  return `known are ${names.slice(0, 30).map(brief).join(', ')}${names.length > 30 ? ', …' : ''}`
}

function member(at: string, name: string): string {
  return at === '' ? name : `${at}.${name.slice(0, SHOWN)}`
}

function listed(texts: readonly string[]): string {
  return texts.length < 2 ? (texts[0] ?? '') : `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`
}

function characters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}
