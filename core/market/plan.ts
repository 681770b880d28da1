import { createHash } from 'node:crypto'
import { type FieldError, HubError } from '../contract/errors.ts'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import type { MarketInput, MarketTemplate, MarketVariant } from '../contract/points.ts'
import { canonical } from '../domain/json/canonical-json.ts'
import { quoteName } from '../domain/names.ts'
import { validationError } from '../domain/validation-error.ts'
import { unusable } from './template-check.ts'

const PLACE = /\{([^{}]+)\}/g
/** Where a package is started with. */
const RUNNERS = { npm: 'npx', pypi: 'uvx' } as const

/** What a user asks for. */
export interface Wish {
  readonly name: string
  /** Default: the first usable one. */
  readonly variant: string | undefined
  readonly inputs: Readonly<Record<string, string>>
  readonly start: boolean
}

/** What an installation would do. */
export interface Plan {
  /** Flat, as for `POST /api/servers`. */
  readonly body: JsonObject
  readonly variant: string
  /** The words of the command, untruncated; secrets are named. Empty for a remote server. */
  readonly argv: readonly string[]
  readonly env: readonly string[]
  readonly url?: string
  readonly headers: readonly string[]
  /** Names of required inputs without a value. */
  readonly missing: readonly string[]
  readonly warnings: readonly string[]
  readonly permissions: JsonObject
  /** Equal only for the same template, wish and outcome. */
  readonly planHash: string
}

/** What installing a template would do. Throws `validation_failed` with all wrong inputs, `template_unusable`. */
export function planInstall(id: string, template: MarketTemplate, wish: Wish): Plan {
  const variant = chooseVariant(template, wish.variant)
  const { values, missing } = readInputs(template.inputs, wish.inputs, placesOf(variant))
  const filler = new Filler(template.inputs, values)
  const args = (variant.args ?? []).flatMap(words => filler.words(words))
  const env = filler.map(variant.env)
  const headers = filler.map(variant.headers)
  const url = variant.url === undefined ? undefined : filler.text(variant.url)
  refuseOptions(template.inputs, variant, values)
  const command = commandOf(variant)
  const body: JsonObject = {
    ...{ name: wish.name, enabled: wish.start },
    ...(command.length === 0
      ? { transport: variant.transport ?? 'streamable-http', url: url ?? '' }
      : { transport: 'stdio', command: command[0] ?? '', args: [...command.slice(1), ...args] }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...filler.variables(),
  }
  const shown = {
    variant: variant.id,
    argv: command.length === 0 ? [] : [...command, ...(variant.args ?? []).flatMap(words => filler.shown(words))],
    env: Object.keys(env),
    ...(variant.url === undefined ? {} : { url: filler.shown(variant.url).join('') }),
    headers: Object.keys(headers),
    missing,
    warnings: warningsOf(template, variant),
    permissions: permissionsOf(variant, filler.secrets),
  }
  const whole = { id, template: template as unknown as JsonValue, body, shown }
  return {
    body,
    ...shown,
    planHash: createHash('sha256')
      .update(canonical(whole as never))
      .digest('hex'),
  }
}

function chooseVariant({ title, variants }: MarketTemplate, wanted: string | undefined): MarketVariant {
  const found = wanted === undefined ? variants.find(one => !unusable(one)) : variants.find(({ id }) => id === wanted)
  const reason = found ? unusable(found) : 'There is no such variant'
  if (found && !reason) return found
  throw new HubError('template_unusable', `${quoteName(title)} cannot be installed here: ${reason}`)
}

/** The names of the inputs that a variant uses: a template's other variants may need others. */
function placesOf({ args = [], env, headers, url = '' }: MarketVariant): ReadonlySet<string> {
  const texts = [...args.flat(), ...Object.values(env ?? {}), ...Object.values(headers ?? {}), url]
  return new Set(texts.flatMap(text => [...text.matchAll(PLACE)].map(([, name = '']) => name)))
}

function readInputs(
  inputs: readonly MarketInput[],
  given: Readonly<Record<string, string>>,
  used: ReadonlySet<string>,
) {
  const entered = inputs.map(input => {
    const value = Object.hasOwn(given, input.name) ? given[input.name] : input.default
    return { ...input, value: value ?? '' }
  })
  const errors: FieldError[] = [
    ...Object.keys(given)
      .filter(name => !inputs.some(input => input.name === name))
      .map(name => inputError(name, 'unknown_field', `The template has no input ${quoteName(name)}`)),
    ...entered
      .filter(({ value, choices }) => value !== '' && choices && !choices.includes(value))
      .map(({ name, choices = [] }) => inputError(name, 'enum', `One of ${choices.join(', ')} is wanted`)),
  ]
  if (errors.length > 0) throw validationError(errors, 'The inputs cannot be used')
  return {
    values: new Map(entered.flatMap(({ name, value }) => (value === '' ? [] : [[name, value]]))),
    missing: entered
      .filter(({ name, value, required }) => value === '' && required && used.has(name))
      .map(({ name }) => name),
  }
}

function inputError(name: string, code: FieldError['code'], detail: string): FieldError {
  return { pointer: `#/inputs/${pointer(name)}`, code, detail }
}

function pointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** A value that begins with `-` would be an option of the program where it stands alone. */
function refuseOptions(
  inputs: readonly MarketInput[],
  { args = [] }: MarketVariant,
  values: ReadonlyMap<string, string>,
) {
  const errors: FieldError[] = inputs
    .filter(({ name }) => args.flat().includes(`{${name}}`) && values.get(name)?.startsWith('-'))
    .map(({ name }) =>
      inputError(name, 'range', `${quoteName(name)} begins with "-", and would be an option of the program`),
    )
  if (errors.length > 0) throw validationError(errors, 'The inputs cannot be used')
}

/** Puts references to variables where inputs stand: what users enter is never part of another text. */
class Filler {
  readonly secrets: string[] = []
  readonly #inputs: ReadonlyMap<string, MarketInput>
  readonly #values: ReadonlyMap<string, string>
  readonly #used = new Map<string, string>()

  constructor(inputs: readonly MarketInput[], values: ReadonlyMap<string, string>) {
    this.#inputs = new Map(inputs.map(input => [input.name, input]))
    this.#values = values
  }

  /** Words of a command; none where an input of them has no value. */
  words(given: string | readonly string[]): string[] {
    const words = [given].flat()
    return words.every(text => this.#isFilled(text)) ? words.map(text => this.text(text)) : []
  }

  /** The same for people: what was entered, and of secrets the name of the variable. */
  shown(given: string | readonly string[]): string[] {
    const words = [given].flat()
    if (!words.every(text => this.#isFilled(text))) return []
    return words.map(text =>
      text.replace(PLACE, (whole, name: string) => {
        const input = this.#inputs.get(name)
        if (!input) return whole
        return input.secret ? `\${${this.#variable(input)}}` : (this.#values.get(name) ?? '')
      }),
    )
  }

  map(texts: Readonly<Record<string, string>> = {}): Record<string, string> {
    const filled = Object.entries(texts).filter(([, text]) => this.#isFilled(text))
    return Object.fromEntries(filled.map(([name, text]) => [name, this.text(text)]))
  }

  text(text: string): string {
    return escaped(text).replace(PLACE, (whole, name: string) => {
      const input = this.#inputs.get(name)
      return input ? `\${${this.#variable(input)}}` : whole
    })
  }

  /** The members of a body that hold what was entered. */
  variables(): JsonObject {
    if (this.#used.size === 0) return {}
    const variables = Object.fromEntries(
      [...this.#used].map(([name, variable]) => [variable, escaped(this.#values.get(name) ?? '')]),
    )
    const secrets = this.secrets.map(name => `/variables/${pointer(name)}`)
    return { variables, ...(secrets.length === 0 ? {} : { secrets }) }
  }

  #variable(input: MarketInput): string {
    const known = this.#used.get(input.name)
    if (known !== undefined) return known
    const base = input.name
      .toUpperCase()
      .replace(/[^A-Z0-9]+/g, '_')
      .replace(/^(?=\d)/, '_')
    let variable = base
    for (let more = 2; [...this.#used.values()].includes(variable); more += 1) variable = `${base}_${more}`
    this.#used.set(input.name, variable)
    if (input.secret) this.secrets.push(variable)
    return variable
  }

  #isFilled(text: string): boolean {
    return [...text.matchAll(PLACE)].every(([, name = '']) => !this.#inputs.has(name) || this.#values.has(name))
  }
}

/** `${` stands for itself, not for a variable of the server. */
function escaped(text: string): string {
  // In a replacement text a dollar sign would be one of two.
  return text.replaceAll('${', () => '$${')
}

function commandOf({ kind, package: id = '', version = '' }: MarketVariant): string[] {
  if (kind === 'remote') return []
  return kind === 'npm' ? [RUNNERS.npm, '-y', `${id}@${version}`] : [RUNNERS.pypi, `${id}==${version}`]
}

function warningsOf({ status, message }: MarketTemplate, { kind }: MarketVariant): string[] {
  return [
    ...(status === 'deprecated' ? ['Its authors do not maintain it any more'] : []),
    ...(message === undefined ? [] : [message]),
    ...(kind === 'remote' ? [] : ['It downloads a package when it first starts']),
  ]
}

function permissionsOf({ kind, url }: MarketVariant, secrets: readonly string[]): JsonObject {
  const isRemote = kind === 'remote'
  return {
    runs: !isRemote,
    network: isRemote ? 'host' : 'proxy',
    hosts: isRemote ? [URL.parse(url ?? '')?.host ?? ''] : [],
    secrets: [...secrets],
  }
}
