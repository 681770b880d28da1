import { LIMITS } from '../../../config/limits.ts'
import type { FieldError } from '../../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../../contract/json.ts'
import { kind } from '../../../domain/json/fields.ts'
import { pointerToken } from '../../../domain/json/json-pointer.ts'
import { type CustomUpdate, METRIC_NAME } from '../../../telemetry/custom-metrics.ts'

/** One number of a free-form report, and its place there. */
export interface FreeNumber {
  readonly update: CustomUpdate
  readonly pointer: string
}

/**
 * Converts the numbers of nested objects to gauges without labels. A name is the keys on the way to the number, joined by `_`:
 * `{"toolUsage": {"web-search": 3}}` is `tool_usage_web_search`. Returns all errors: values that are not numbers or objects,
 * more than `customMetricDepth` levels or `customMetricsPerReport` numbers, and names that are invalid or used twice.
 */
export function freeNumbers(
  report: JsonObject,
  at = '#',
): { readonly numbers: readonly FreeNumber[]; readonly errors: readonly FieldError[] } {
  const reader = new ReportReader()
  reader.read(report, [], at)
  const { numbers, errors } = reader
  if (numbers.length > LIMITS.customMetricsPerReport)
    errors.push({
      pointer: at,
      code: 'length',
      detail: `One report has at most ${LIMITS.customMetricsPerReport} numbers`,
    })
  if (numbers.length === 0 && errors.length === 0)
    errors.push({ pointer: at, code: 'required', detail: 'There is no number in this report' })
  return { numbers, errors }
}

class ReportReader {
  readonly numbers: FreeNumber[] = []
  readonly errors: FieldError[] = []
  readonly #names = new Set<string>()

  /** A report that is far too large is not read to its end. */
  get #isFull(): boolean {
    return this.numbers.length > LIMITS.customMetricsPerReport || this.errors.length > LIMITS.customMetricsPerReport
  }

  read(value: JsonValue, keys: readonly string[], pointer: string): void {
    if (this.#isFull) return
    if (typeof value === 'number' && Number.isFinite(value)) this.#take(value, keys, pointer)
    else if (!isJsonObject(value))
      this.#wrong(pointer, 'type', `Numbers and objects of numbers are taken, not ${kind(value)}`)
    else if (keys.length >= LIMITS.customMetricDepth)
      this.#wrong(pointer, 'length', `Objects are nested ${LIMITS.customMetricDepth} deep at most`)
    else
      for (const [key, inner] of Object.entries(value))
        this.read(inner, [...keys, key], `${pointer}/${pointerToken(key)}`)
  }

  #take(value: number, keys: readonly string[], pointer: string): void {
    const name = keys.map(inSnakeCase).join('_')
    if (!METRIC_NAME.test(name)) {
      const shown = name.slice(0, 80)
      this.#wrong(pointer, 'format', `The name "${shown}" must begin with one of a-z and have at most 64 characters`)
    } else if (this.#names.has(name)) {
      this.#wrong(pointer, 'duplicate', `Two numbers of this report would be named "${name}"`)
    }
    this.#names.add(name)
    this.numbers.push({ update: { name, kind: 'gauge', value, labels: {} }, pointer })
  }

  #wrong(pointer: string, code: FieldError['code'], detail: string): void {
    this.errors.push({ pointer, code, detail })
  }
}

function inSnakeCase(key: string): string {
  const words = key.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
  return words.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')
}
