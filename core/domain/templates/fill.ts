import type { JsonObject } from '../../contract/json.ts'
import { pointerToken } from '../json/json-pointer.ts'
import type { TemplateInput, TemplateVariant } from './types.ts'

const PLACE = /\{([^{}]+)\}/g
/** Program that starts a package. */
const RUNNERS = { npm: 'npx', pypi: 'uvx' } as const

/** A variant with its inputs in their places. */
export interface Filled {
  /** Fields of a server's flat body: its transport's own, `variables` and `secrets`. */
  readonly body: JsonObject
  /** The words of the command, untruncated; secrets are named. Empty for a remote server. */
  readonly argv: readonly string[]
  readonly env: readonly string[]
  readonly url?: string
  readonly headers: readonly string[]
  /** Variable that holds the entered value, by input. */
  readonly variables: Readonly<Record<string, string>>
  /** The variables that are secret. */
  readonly secrets: readonly string[]
}

/** The names of the inputs that a variant uses: a template's other variants may need others. */
export function usedInputs({ args = [], env, headers, url = '' }: TemplateVariant): ReadonlySet<string> {
  const texts = [...args.flat(), ...Object.values(env ?? {}), ...Object.values(headers ?? {}), url]
  return new Set(texts.flatMap(text => [...text.matchAll(PLACE)].map(([, name = '']) => name)))
}

/**
 * Fills `values` into a variant. Each becomes a variable of the server, named as `names` says or after the input, and different
 * from those in `taken`; parts that need an input without a value are left out.
 */
export function fillVariant(
  variant: TemplateVariant,
  inputs: readonly TemplateInput[],
  values: ReadonlyMap<string, string>,
  names: Readonly<Record<string, string>> = {},
  taken: readonly string[] = [],
): Filled {
  const filler = new Filler(inputs, values, names, taken)
  const given = variant.args ?? []
  const args = given.flatMap(words => filler.words(words))
  const env = filler.map(variant.env)
  const headers = filler.map(variant.headers)
  const url = variant.url === undefined ? undefined : filler.text(variant.url)
  const command = commandOf(variant)
  const isRemote = command.length === 0
  return {
    body: {
      ...(isRemote
        ? { transport: variant.transport ?? 'streamable-http', url: url ?? '' }
        : { transport: 'stdio', command: command[0] ?? '', args: [...command.slice(1), ...args] }),
      ...(Object.keys(env).length === 0 ? {} : { env }),
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...filler.held(),
    },
    argv: isRemote ? [] : [...command, ...given.flatMap(words => filler.shown(words))],
    env: Object.keys(env),
    ...(variant.url === undefined ? {} : { url: filler.shown(variant.url).join('') }),
    headers: Object.keys(headers),
    variables: filler.variables,
    secrets: filler.secrets,
  }
}

/** Escapes `${`, so that it is not a variable of the server. */
function escaped(text: string): string {
  // In a replacement text a dollar sign would be one of two.
  return text.replaceAll('${', () => '$${')
}

/** Returns the entered value from the variable that holds it. */
export function entered(variable: string): string {
  return variable.replaceAll('$${', () => '${')
}

function commandOf({ kind, package: id = '', version = '' }: TemplateVariant): string[] {
  if (kind === 'remote') return []
  const pinned = version === '' ? '' : `${kind === 'npm' ? '@' : '=='}${version}`
  return kind === 'npm' ? [RUNNERS.npm, '-y', `${id}${pinned}`] : [RUNNERS.pypi, `${id}${pinned}`]
}

/** Replaces inputs with references to variables, so that entered values are never inserted into another text. */
class Filler {
  readonly secrets: string[] = []
  readonly #inputs: ReadonlyMap<string, TemplateInput>
  readonly #values: ReadonlyMap<string, string>
  readonly #names: Readonly<Record<string, string>>
  readonly #taken: readonly string[]
  readonly #used = new Map<string, string>()

  constructor(
    inputs: readonly TemplateInput[],
    values: ReadonlyMap<string, string>,
    names: Readonly<Record<string, string>>,
    taken: readonly string[],
  ) {
    this.#taken = taken
    this.#inputs = new Map(inputs.map(input => [input.name, input]))
    this.#values = values
    this.#names = names
  }

  get variables(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#used)
  }

  /** Words of a command; empty if one of their inputs has no value. */
  words(given: string | readonly string[]): string[] {
    const words = [given].flat()
    return words.every(text => this.#isFilled(text)) ? words.map(text => this.text(text)) : []
  }

  /** The same for display: with entered values, and names of variables for secrets. */
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

  /** The members of a body with the entered values. */
  held(): JsonObject {
    if (this.#used.size === 0) return {}
    const variables = Object.fromEntries(
      [...this.#used].map(([name, variable]) => [variable, escaped(this.#values.get(name) ?? '')]),
    )
    const secrets = this.secrets.map(name => `/variables/${pointerToken(name)}`)
    return { variables, ...(secrets.length === 0 ? {} : { secrets }) }
  }

  #variable(input: TemplateInput): string {
    const known = this.#used.get(input.name)
    if (known !== undefined) return known
    const variable = Object.hasOwn(this.#names, input.name) ? (this.#names[input.name] ?? '') : this.#newName(input)
    this.#used.set(input.name, variable)
    if (input.secret) this.secrets.push(variable)
    return variable
  }

  #newName({ name }: TemplateInput): string {
    const base = name
      .toUpperCase()
      .replace(/[^A-Z0-9]+/g, '_')
      .replace(/^(?=\d)/, '_')
    const taken = new Set([...this.#used.values(), ...Object.values(this.#names), ...this.#taken])
    let variable = base
    for (let more = 2; taken.has(variable); more += 1) variable = `${base}_${more}`
    return variable
  }

  #isFilled(text: string): boolean {
    return [...text.matchAll(PLACE)].every(([, name = '']) => !this.#inputs.has(name) || this.#values.has(name))
  }
}
