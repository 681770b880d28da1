import type { FieldError } from '../contract/errors.ts'
import type { MarketInput, MarketVariant } from '../contract/market.ts'
import { pointerToken } from '../domain/json/json-pointer.ts'
import { quoteName } from '../domain/names.ts'
import { MOST_ERRORS, validationError } from '../domain/validation-error.ts'
import { usedInputs } from './fill.ts'

/** What is known of the inputs of one variant. */
export interface EnteredInputs {
  /** By name; without those that are empty. */
  readonly values: ReadonlyMap<string, string>
  /** Names of required inputs without a value. */
  readonly missing: readonly string[]
}

/**
 * Checks what a user entered. `kept`: values that the server has already, which need not be entered again. Throws
 * `validation_failed` with all wrong inputs.
 */
export function readInputs(
  inputs: readonly MarketInput[],
  variant: MarketVariant,
  given: Readonly<Record<string, string>>,
  kept: ReadonlyMap<string, string> = new Map(),
): EnteredInputs {
  const used = usedInputs(variant)
  const filled = inputs.map(input => {
    const own = Object.hasOwn(given, input.name) ? given[input.name] : undefined
    return { ...input, isNew: own !== undefined, value: own ?? kept.get(input.name) ?? input.default ?? '' }
  })
  const alone = new Set((variant.args ?? []).flat())
  const errors: FieldError[] = [
    ...Object.keys(given)
      .filter(name => !inputs.some(input => input.name === name))
      .slice(0, MOST_ERRORS)
      .map(name => inputError(name, 'unknown_field', `The template has no input ${quoteName(name)}`)),
    ...filled
      .filter(({ value, choices, isNew }) => isNew && value !== '' && choices && !choices.includes(value))
      .map(({ name, choices = [] }) => inputError(name, 'enum', `One of ${choices.join(', ')} is wanted`)),
    // It would be an option of the program where it stands alone.
    ...filled
      .filter(({ name, value, isNew }) => isNew && alone.has(`{${name}}`) && value.startsWith('-'))
      .map(({ name }) =>
        inputError(name, 'range', `${quoteName(name)} begins with "-", and would be an option of the program`),
      ),
  ]
  if (errors.length > 0) throw validationError(errors, 'The inputs cannot be used')
  return {
    values: new Map(filled.flatMap(({ name, value }) => (value === '' ? [] : [[name, value]]))),
    missing: filled.filter(({ name, value, required }) => value === '' && required && used.has(name)).map(inputName),
  }
}

function inputName({ name }: MarketInput): string {
  return name
}

function inputError(name: string, code: FieldError['code'], detail: string): FieldError {
  return { pointer: `#/inputs/${pointerToken(name)}`, code, detail }
}

/** Throws `validation_failed` when required inputs have no value. */
export function refuseMissing(missing: readonly string[]): void {
  if (missing.length === 0) return
  throw validationError(
    missing.map(name => inputError(name, 'required', `${quoteName(name)} is missing`)),
    'The template cannot be installed',
  )
}
