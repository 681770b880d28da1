import type { JsonObject, JsonValue } from 'patchbay/contract'
import type { AuditedRequest } from 'patchbay/features'
import {
  checkName,
  type Draft,
  isNameProblem,
  PROGRAM_FOLDER,
  quoteName,
  readPackageRun,
  validationError,
} from 'patchbay/plugin-kit'
import { bundleError } from './errors.ts'
import { FOLDERS, type InputTexts, type InputValue, readInputs } from './inputs.ts'
import { type BundleManifest, commandOf, unusable } from './manifest.ts'

const PLACE = /\$\{([^{}]+)\}/g
const CONFIG = 'user_config.'
const WHOLE = /^\$\{user_config\.([^{}]+)\}$/

/** A bundle that is stored. */
export interface PlannedBundle {
  /** SHA-256 of the file. */
  readonly id: string
  readonly manifest: BundleManifest
  readonly signed: boolean
}

/** A user's request to install a bundle. */
export interface BundleInstallRequest {
  /** The bundle's id. */
  readonly id: string
  readonly name?: string | undefined
  readonly inputs: Readonly<Record<string, InputValue>>
  readonly start: boolean
  /** Default `none`. */
  readonly network?: 'none' | 'proxy' | undefined
  /** The request that asks for it, for the audit log. */
  readonly request: AuditedRequest
}

/** Preview of an installation, as for templates. */
export interface BundlePlan {
  /** The words of the command, untruncated; secrets are named. */
  readonly argv: readonly string[]
  readonly env: readonly string[]
  readonly headers: readonly string[]
  /** Names of required inputs without a value. */
  readonly missing: readonly string[]
  readonly warnings: readonly string[]
  readonly permissions: JsonObject
}

/** An installation: its preview, and what it is made of. */
export interface BundleDraft extends Draft<BundlePlan> {
  /** Flat, as for `POST /api/servers`. */
  readonly body: JsonObject
}

/** The machine on which a bundle is to run. */
export interface BundleMachine {
  readonly platform: string
  readonly isInside: (name: string) => boolean
}

/** Returns the draft of installing a bundle. Throws `validation_failed` with all wrong inputs, `bundle_unusable`. */
export function draftBundle(bundle: PlannedBundle, options: BundleInstallRequest, machine: BundleMachine): BundleDraft {
  const { id, manifest, signed } = bundle
  const { platform } = machine
  const { title, reason } = { title: manifest.display_name ?? manifest.name, reason: unusable(manifest, platform) }
  if (reason) throw bundleError('bundle_unusable', `${quoteName(title)} cannot be installed here: ${reason}`)
  const { texts, missing } = readInputs(manifest, options.inputs)
  const given = commandOf(manifest, platform)
  const filler = new Filler(manifest, texts)
  const args = (given.args ?? []).flatMap(word => filler.words(word))
  const command = inBundle(manifest, filler.text(given.command))
  if (readPackageRun(command, args)) {
    const why = 'it starts a package runner, and a bundle holds what it runs'
    throw bundleError('bundle_unusable', `${quoteName(title)} cannot be installed here: ${why}`)
  }
  const env = filler.map(given.env)
  const network = options.network ?? 'none'
  const body: JsonObject = {
    ...{ name: options.name ?? serverName(manifest.name), enabled: options.start, transport: 'stdio' },
    ...{ command, args, bundle: id, sandbox: 'full' },
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...(network === 'none' ? {} : { network }),
    ...filler.variables(),
  }
  const shown = {
    argv: [command, ...(given.args ?? []).flatMap(word => filler.shown(word))],
    env: Object.keys(env),
    headers: [],
    missing,
    warnings: [...warningsOf(manifest, signed, filler.unfilled), ...lacking(command, machine)],
    permissions: { runs: true, network, hosts: [], files: 'own', secrets: [...filler.secrets] },
  }
  return { body, shown, missing, decides: [{ id, body, shown } as unknown as JsonValue] }
}

/** The name of the bundle, with what no server's name may have as `-`. */
function serverName(name: string): string {
  const usable = name
    .replaceAll(/[^\p{L}\p{Nd}_.-]+/gu, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
    .slice(0, 64)
  return isNameProblem(checkName('server', usable)) ? 'bundle' : usable
}

/** Manifests of binaries may name their program by its path in the bundle. */
function inBundle({ server }: BundleManifest, command: string): string {
  // Many systems have Python 3 under this name only.
  if (server.type === 'python' && command === 'python') return 'python3'
  const isInside = server.type === 'binary' && command.includes('/') && !command.startsWith('/')
  return isInside ? `${PROGRAM_FOLDER}/${command.replace(/^\.\//, '')}` : command
}

function warningsOf({ server }: BundleManifest, signed: boolean, unfilled: ReadonlySet<string>): string[] {
  return [
    ...(signed ? ['It is signed; the signature is not checked'] : []),
    ...(server.type === 'uv' ? ['It downloads packages when it first starts'] : []),
    ...[...unfilled].map(name => `${quoteName(`\${${name}}`)} of its command is not known here, and stays as it is`),
  ]
}

/** Programs that a bundle does not bring along. */
function lacking(command: string, { isInside }: BundleMachine): string[] {
  if (command.includes('/') || command.includes('${') || isInside(command)) return []
  return [
    `This machine has no ${quoteName(command)} for everybody below /usr: it does not start until it is installed there`,
  ]
}

/** Replaces inputs with variables of the server, so that entered values are never inserted into another text. */
class Filler {
  readonly secrets: string[] = []
  readonly unfilled = new Set<string>()
  readonly #options: NonNullable<BundleManifest['user_config']>
  readonly #texts: InputTexts
  readonly #variables = new Map<string, string>()

  constructor({ user_config: options = {} }: BundleManifest, texts: InputTexts) {
    this.#options = options
    this.#texts = texts
  }

  /** Words of the command: none for an input without a value; if the word is only an input, one for each of its values. */
  words(word: string): string[] {
    const name = WHOLE.exec(word)?.[1]
    if (name === undefined || !Object.hasOwn(this.#options, name)) return this.#isFilled(word) ? [this.text(word)] : []
    return (this.#texts.get(name) ?? []).map((value, at) => {
      refuseOption(name, value)
      return `\${${this.#variable(name, at, value)}}`
    })
  }

  /** The same for display: with entered values, and names of variables for secrets. */
  shown(word: string): string[] {
    return this.words(word).map(text =>
      text.replaceAll(/(\$?)\$\{([^{}]+)\}/g, (whole, escaped: string, name: string) => {
        if (escaped !== '') return whole.slice(1)
        return this.secrets.includes(name) ? whole : (this.#variables.get(name) ?? whole)
      }),
    )
  }

  map(texts: Readonly<Record<string, string>> = {}): Record<string, string> {
    const filled = Object.entries(texts).filter(([, text]) => this.#isFilled(text))
    return Object.fromEntries(filled.map(([name, text]) => [name, this.text(text)]))
  }

  text(text: string): string {
    return text.replaceAll(PLACE, (whole, name: string) => {
      if (name === '__dirname') return PROGRAM_FOLDER
      if (Object.hasOwn(FOLDERS, name)) return FOLDERS[name] ?? ''
      const input = name.startsWith(CONFIG) ? name.slice(CONFIG.length) : undefined
      if (input === undefined || !Object.hasOwn(this.#options, input)) {
        this.unfilled.add(name)
        // In a server's configuration, `$${` is an escaped `${`.
        return `$${whole}`
      }
      const values = this.#texts.get(input) ?? []
      return `\${${this.#variable(input, 0, values.join(','), values.length > 1 ? '_LIST' : '')}}`
    })
  }

  /** The members of a body with the entered values. */
  variables(): JsonObject {
    if (this.#variables.size === 0) return {}
    const variables: Record<string, JsonValue> = {}
    for (const [name, value] of this.#variables) variables[name] = value.replaceAll('${', () => '$${')
    const secrets = this.secrets.map(name => `/variables/${name}`)
    return { variables, ...(secrets.length === 0 ? {} : { secrets }) }
  }

  #variable(input: string, at: number, value: string, suffix = ''): string {
    const base = input
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, '_')
      .replace(/^(?=\d)/, '_')
    const wanted = `${base}${suffix}${at === 0 ? '' : `_${at + 1}`}`
    let variable = wanted
    // Two inputs may differ in letter case alone.
    for (let more = 2; (this.#variables.get(variable) ?? value) !== value; more += 1) variable = `${wanted}__${more}`
    this.#variables.set(variable, value)
    if (this.#options[input]?.sensitive && !this.secrets.includes(variable)) this.secrets.push(variable)
    return variable
  }

  /** True when all inputs in a text have a value; otherwise the text is left out. */
  #isFilled(text: string): boolean {
    return [...text.matchAll(PLACE)].every(([, name = '']) => {
      const input = name.startsWith(CONFIG) ? name.slice(CONFIG.length) : undefined
      return input === undefined || !Object.hasOwn(this.#options, input) || this.#texts.has(input)
    })
  }
}

/** Rejects a value that begins with `-`: as a word of its own it would be an option of the program. */
function refuseOption(name: string, value: string): void {
  if (!value.startsWith('-') || /^-\d+(?:\.\d+)?$/.test(value)) return
  const detail = `${quoteName(name)} begins with "-", and would be an option of the program`
  throw validationError([{ pointer: `#/inputs/${name}`, code: 'range', detail }], 'The inputs cannot be used')
}
