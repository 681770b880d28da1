import { createHash } from 'node:crypto'
import { HubError, isJsonObject, type JsonObject, type PluginContext } from 'patchbay/contract'
import type { Brought, CredentialStanding, CredentialTarget } from 'patchbay/features'
import { serverUrl } from '../server-config.ts'
import type { Credential, CredentialStore } from './store.ts'

/** Longest value of a user, in characters. */
export const MOST_VALUE = 8_192
/** Most characters of all values that a user enters for a server: servers take no more in the headers of a request. */
const MOST_VALUES = 16_384

/** A value that a server asks each of its users for. */
export interface BroughtField {
  readonly name: string
  readonly in: 'header' | 'env'
  readonly key: string
  readonly format?: string
  readonly label: string
  readonly help?: string
}

/** The values that a server asks for; undefined where it asks for none. */
export function broughtFields({ bring }: JsonObject): readonly BroughtField[] | undefined {
  if (!Array.isArray(bring)) return undefined
  const fields = bring.filter(isJsonObject) as unknown as BroughtField[]
  return fields.length === 0 ? undefined : fields
}

/** The values that users bring to servers, such as API keys, in place of a sign-in at an issuer. */
export class BroughtValues {
  readonly #context: PluginContext<unknown>
  readonly #store: CredentialStore
  readonly #pageOf: (serverId: string) => string

  constructor(context: PluginContext<unknown>, store: CredentialStore, pageOf: (serverId: string) => string) {
    this.#context = context
    this.#store = store
    this.#pageOf = pageOf
  }

  /** Throws `authorization_required` where the user has entered none, and `resource_changed` where they are for another address. */
  async forConnection(server: CredentialTarget, fields: readonly BroughtField[], userId: string): Promise<Brought> {
    const credential = await this.#store.find(holderOf(server, userId), server.id)
    const problem = this.#problem(server, fields, credential)
    if (problem || !credential) throw problem ?? this.#missing(server)
    const values = credential.kept.values ?? {}
    const texts = (place: BroughtField['in']): Readonly<Record<string, string>> =>
      Object.fromEntries(fields.filter(field => field.in === place).map(field => [field.key, written(field, values)]))
    return { id: credential.id, version: credential.version, headers: texts('header'), env: texts('env') }
  }

  /** The server refused the values: the user enters others. */
  async refused(server: CredentialTarget, userId: string, version: number | undefined): Promise<undefined> {
    const credential = await this.#store.find(holderOf(server, userId), server.id)
    if (credential && credential.version === version) await this.#store.end(credential, 'refused')
    throw this.#missing(server, ': it refused those that it got')
  }

  async standing(
    server: CredentialTarget,
    fields: readonly BroughtField[],
    userId: string,
  ): Promise<CredentialStanding> {
    const credential = await this.#store.find(holderOf(server, userId), server.id)
    const own = credential?.user_id === userId ? { connection: credential.id } : {}
    const problem = this.#problem(server, fields, credential)
    if (!problem) return { state: 'active', ...own }
    const state = credential?.state === 'refused' ? 'refused' : 'sign_in_needed'
    const reason = { code: problem.code, message: problem.message }
    return { state, reason, connectUrl: this.#pageOf(server.id), ...own }
  }

  /** Keeps the values of a user in place of the earlier ones. Throws `validation_failed`. */
  async enter(server: CredentialTarget, userId: string, given: Readonly<Record<string, string>>): Promise<Credential> {
    const fields = broughtFields(server.config)
    if (!fields) throw invalid('', 'unknown_field', `"${server.name}" asks its users for no values`)
    const values = Object.fromEntries(fields.map(field => [field.name, checked(field, given)]))
    const unknown = Object.keys(given).find(name => !fields.some(field => field.name === name))
    if (unknown !== undefined) throw invalid(unknown, 'unknown_field', `${server.name} asks for no such value`)
    const written = Object.values(values).reduce((sum, { length }) => sum + length, 0)
    if (written > MOST_VALUES) throw invalid('', 'length', `All values together may have ${MOST_VALUES} characters`)
    const before = await this.#store.find(userId, server.id)
    const place = placeOf(server)
    const credential = await this.#store.entered({ userId, serverId: server.id, place, values })
    const { states } = this.#context
    // A process has its variables for its whole life.
    if (before && fields.some(field => field.in === 'env')) states.credentialChanged(server.id, userId, 'lost')
    states.credentialChanged(server.id, userId, 'gained')
    return credential
  }

  #problem(
    server: CredentialTarget,
    fields: readonly BroughtField[],
    credential: Credential | undefined,
  ): HubError | undefined {
    if (credential?.state === 'refused') return this.#missing(server, ': it refused those that it got')
    const { values, place } = credential?.kept ?? {}
    if (credential?.state !== 'active' || !values) return this.#missing(server)
    if (place !== placeOf(server)) {
      const connectUrl = this.#pageOf(server.id)
      const message = `"${server.name}" has another address or program since you entered your values: open ${connectUrl}`
      return this.#context.error('resource_changed', message, { data: { connectUrl } })
    }
    return fields.every(({ name }) => values[name] !== undefined) ? undefined : this.#missing(server)
  }

  #missing(server: CredentialTarget, why = ''): HubError {
    const connectUrl = this.#pageOf(server.id)
    const message = `"${server.name}" wants values of your own${why}: open ${connectUrl}`
    return new HubError('authorization_required', message, { data: { connectUrl } })
  }
}

/** The user whose values a connection carries: the owner's, where the owner entered them for all. */
function holderOf({ ownerId, config }: CredentialTarget, userId: string): string {
  return config.credentials === 'owner' ? ownerId : userId
}

/** The origin to which values go, or the program that gets them with all that decides what it does, as a text to compare. */
function placeOf({ config }: CredentialTarget): string {
  const url = serverUrl(config)
  if (url) return url.origin
  const { bring: _, credentials: __, ...program } = config
  const members = Object.entries(program).sort(([one], [other]) => (one < other ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(members)).digest('hex')
}

function written({ name, format = '{value}' }: BroughtField, values: Readonly<Record<string, string>>): string {
  return format.replace('{value}', () => values[name] ?? '')
}

function checked({ name, in: place }: BroughtField, given: Readonly<Record<string, string>>): string {
  const value = Object.hasOwn(given, name) ? given[name] : undefined
  if (value === undefined || value === '') throw invalid(name, 'required', 'Enter a value')
  // A line break would begin another header, and a NUL ends a variable.
  const isClean = place === 'header' ? /^[\x20-\x7e]*$/.test(value) : /^[^\p{Cc}\p{Cs}]*$/u.test(value)
  if (!isClean) throw invalid(name, 'format', 'The value has characters that it cannot be sent with')
  return value
}

function invalid(name: string, code: 'required' | 'format' | 'length' | 'unknown_field', detail: string): HubError {
  const pointer = `#/values${name === '' ? '' : `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`}`
  return new HubError('validation_failed', detail, { errors: [{ pointer, code, detail }] })
}
