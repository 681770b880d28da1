import type { FieldError } from 'patchbay/contract'
import { isBlank, MOST_ERRORS, pointerToken, quoteName, usedInputs, validationError } from 'patchbay/plugin-kit'
import type { MarketInput, MarketVariant } from './types.ts'

/** Validated inputs of one variant. */
export interface EnteredInputs {
  /** Values by name, without inputs for which nothing was entered. */
  readonly values: ReadonlyMap<string, string>
  /** Names of required inputs without a value. */
  readonly missing: readonly string[]
}

/** An input as the API and the console show it. */
export type ShownInput = MarketInput & Required<Pick<MarketInput, 'label' | 'format'>>

/** Adds defaults for the label and format that a template does not state. */
export function shownInput(input: MarketInput): ShownInput {
  return { ...input, label: input.label ?? labelOf(input.name), format: input.format ?? 'string' }
}

/** `allowed_directory`: Allowed directory. */
function labelOf(name: string): string {
  const words = name.replace(/[\s_-]+/g, ' ').trim()
  return words === '' ? name : `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`
}

/**
 * Checks entered values. A blank value does not count for a required input or a secret. `kept`: values that the server already
 * has, which need not be entered again. Throws `validation_failed` with all wrong inputs.
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
    const value = own ?? kept.get(input.name) ?? input.default ?? ''
    const isNothing = (input.required || input.secret) && isBlank(value)
    return { ...input, isNew: own !== undefined, value: isNothing ? '' : value }
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
    ...filled
      .filter(({ value, isNew, format }) => isNew && value !== '' && !fits(value, format))
      .map(({ name, format }) =>
        inputError(name, 'range', `${quoteName(name)} is ${format === 'number' ? 'a number' : 'true or false'}`),
      ),
    ...filled
      .filter(({ value, isNew }) => isNew && value.includes('\0'))
      .map(({ name }) => inputError(name, 'range', `${quoteName(name)} holds a NUL character`)),
    // As a word of its own it would be an option of the program.
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

function fits(value: string, format: MarketInput['format']): boolean {
  if (format === 'boolean') return value === 'true' || value === 'false'
  return format !== 'number' || (value.trim() !== '' && Number.isFinite(Number(value)))
}

function inputName({ name }: MarketInput): string {
  return name
}

function inputError(name: string, code: FieldError['code'], detail: string): FieldError {
  return { pointer: `#/inputs/${pointerToken(name)}`, code, detail }
}
