import type { FieldError } from 'patchbay/contract'
import { isBlank, pointerToken, quoteName, validationError, WORK_FOLDER } from 'patchbay/plugin-kit'
import type { BundleManifest, BundleOption } from './manifest.ts'

/** Value that a user enters for one input. */
export type InputValue = string | number | boolean | readonly string[]

/** An input as the API shows it: those of templates, with what only bundles have. */
export interface BundleInput {
  readonly name: string
  readonly label: string
  readonly description?: string
  readonly required: boolean
  readonly secret: boolean
  readonly format: 'string' | 'number' | 'boolean' | 'path'
  /** Kind of a `path`. */
  readonly kind?: 'file' | 'directory'
  /** Takes a list of texts. */
  readonly many: boolean
  readonly min?: number
  readonly max?: number
  readonly default?: InputValue
}

/** Entered values as texts; several for an input with many values. An empty list: nothing was entered and there is no default. */
export type InputTexts = ReadonlyMap<string, readonly string[]>

/** The home folder of a server in the sandbox, and the folders in it that manifests name. */
export const FOLDERS: Readonly<Record<string, string>> = {
  HOME: WORK_FOLDER,
  DESKTOP: `${WORK_FOLDER}/Desktop`,
  DOCUMENTS: `${WORK_FOLDER}/Documents`,
  DOWNLOADS: `${WORK_FOLDER}/Downloads`,
  '/': '/',
  pathSeparator: '/',
}

/** The inputs of a bundle, in the manifest's order. */
export function inputsOf({ user_config: options = {} }: BundleManifest): BundleInput[] {
  return Object.entries(options).map(([name, option]) => {
    const isPath = option.type === 'file' || option.type === 'directory'
    return {
      name,
      label: option.title ?? name,
      ...(option.description === undefined ? {} : { description: option.description }),
      required: option.required === true,
      secret: option.sensitive === true,
      format: isPath ? 'path' : (option.type as 'string' | 'number' | 'boolean'),
      ...(isPath ? { kind: option.type as 'file' | 'directory' } : {}),
      many: option.multiple === true,
      ...(option.min === undefined ? {} : { min: option.min }),
      ...(option.max === undefined ? {} : { max: option.max }),
      ...(option.default === undefined ? {} : { default: option.default }),
    }
  })
}

/**
 * Validates entered values; a blank value does not count for a required input or a secret. Throws `validation_failed` with every
 * wrong input.
 */
export function readInputs(
  { user_config: options = {} }: BundleManifest,
  given: Readonly<Record<string, InputValue>>,
): { readonly texts: InputTexts; readonly missing: readonly string[] } {
  const errors: FieldError[] = []
  const problem = (name: string, code: FieldError['code'], detail: string): void => {
    errors.push({ pointer: `#/inputs/${pointerToken(name)}`, code, detail })
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(options, name)) problem(name, 'unknown_field', `The bundle has no input ${quoteName(name)}`)
  }
  const texts = new Map<string, readonly string[]>()
  const missing: string[] = []
  for (const [name, option] of Object.entries(options)) {
    const isGiven = Object.hasOwn(given, name)
    const words = wordsOf(isGiven ? given[name] : defaultOf(option), option)
    if (words.length === 0 && option.required) missing.push(name)
    if (words.length > 1 && !option.multiple) problem(name, 'type', `${quoteName(name)} takes one value`)
    const read = words.map(word =>
      readWord(word, option, detail => problem(name, 'range', `${quoteName(name)} ${detail}`)),
    )
    if (read.length > 0) texts.set(name, read)
  }
  if (errors.length > 0) throw validationError(errors, 'The inputs cannot be used')
  return { texts, missing }
}

function wordsOf(value: InputValue | undefined, { required, sensitive }: BundleOption): string[] {
  if (value === undefined) return []
  return [value]
    .flat()
    .map(String)
    .filter(word => word !== '' && !((required || sensitive) && isBlank(word)))
}

/** Returns the default, in which folders are filled in; entered values are literal texts. */
function defaultOf({ default: preset }: BundleOption): InputValue | undefined {
  const filled = (word: string) =>
    word.replaceAll(
      /\$\{([^{}]+)\}/g,
      (whole, name: string) => (Object.hasOwn(FOLDERS, name) ? FOLDERS[name] : whole) ?? whole,
    )
  if (typeof preset === 'string') return filled(preset)
  return Array.isArray(preset) ? preset.map(filled) : preset
}

function readWord(word: string, { type, min, max }: BundleOption, wrong: (detail: string) => void): string {
  if (word.includes('\0')) wrong('holds a NUL character')
  if (type === 'boolean' && word !== 'true' && word !== 'false') wrong('is true or false')
  if (type === 'number') checkNumber(word, min, max, wrong)
  return type === 'file' || type === 'directory' ? readPath(word, wrong) : word
}

/** A bundle sees no file of this machine but those of its server's own folder. */
function readPath(path: string, wrong: (detail: string) => void): string {
  const whole = path.startsWith('/') ? path : `${WORK_FOLDER}/${path}`
  const isInside = whole === WORK_FOLDER || whole.startsWith(`${WORK_FOLDER}/`)
  if (isInside && !whole.split('/').includes('..') && !path.includes('\\')) return whole
  wrong(`is a path in the server’s own folder, which is ${WORK_FOLDER} for it, or relative to that`)
  return path
}

function checkNumber(
  word: string,
  min: number | undefined,
  max: number | undefined,
  wrong: (detail: string) => void,
): void {
  const value = Number(word)
  if (word.trim() === '' || !Number.isFinite(value)) wrong('is a number')
  else if (value < (min ?? value)) wrong(`is at least ${min}`)
  else if (value > (max ?? value)) wrong(`is at most ${max}`)
}
