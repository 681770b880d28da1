import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import { type Credential, FOR_ALL } from './config.ts'
import type { Operation } from './operations.ts'
import { CannotBuild, type References } from './references.ts'
import type { TokenPlace } from './tokens.ts'

/** Addition of one security scheme to a request. */
export type Proof =
  | { readonly kind: 'header' | 'query' | 'cookie'; readonly name: string; readonly value: string }
  | { readonly kind: 'token'; readonly place: TokenPlace }

interface Scheme {
  readonly definition: JsonObject
  readonly credential: Credential | undefined
}

/** The document, and the configuration of its security schemes. */
export interface SecurityOptions {
  readonly root: JsonObject
  readonly references: References
  readonly credentials: ReadonlyMap<string, Credential>
  /** Lower-case names of the configured headers, which override credentials. */
  readonly manual: ReadonlySet<string>
  /** The base of relative token addresses in the document. */
  readonly base: string | undefined
}

/** Chooses the credentials for each operation. */
export class Security {
  readonly #options: SecurityOptions
  /** Names of schemes without a value, with the number of operations that need them. */
  readonly #missing = new Map<string, number>()
  readonly #unsendable = new Map<string, number>()
  readonly #used = new Set<string>()

  constructor(options: SecurityOptions) {
    this.#options = options
  }

  /** The credentials of the first alternative with every value configured; empty if none is needed or complete. */
  proofs({ definition }: Pick<Operation, 'definition'>): readonly Proof[] {
    const { root, credentials } = this.#options
    const wanted = Array.isArray(definition.security) ? definition.security : root.security
    const forAll = credentials.get(FOR_ALL)
    if (forAll) return Array.isArray(wanted) && wanted.length === 0 ? [] : (this.#proof({}, forAll, []) ?? [])
    const alternatives = Array.isArray(wanted) ? wanted.filter(isJsonObject) : []
    const named = alternatives.filter(one => Object.keys(one).length > 0)
    for (const alternative of named) {
      const proofs = Object.entries(alternative).map(([name, scopes]) => this.#named(name, scopes))
      if (proofs.every(proof => proof !== undefined)) return proofs.flat()
    }
    const optional = alternatives.length === 0 || named.length < alternatives.length
    if (!optional) for (const name of new Set(named.flatMap(one => Object.keys(one)))) this.#note(name)
    return []
  }

  /** Warnings for the owner: credentials that are missing, unused or of a kind that is not supported. */
  warnings(): readonly string[] {
    const { credentials } = this.#options
    const unused = [...credentials.keys()].filter(name => name !== FOR_ALL && !this.#used.has(name))
    return [
      ...[...this.#missing].map(
        ([name, count]) =>
          `${wants(count)} the security scheme ${quote(name)}: "openapi.auth" has no complete value for it`,
      ),
      ...[...this.#unsendable].map(
        ([name, count]) => `${wants(count)} the security scheme ${quote(name)}, which is not defined or cannot be sent`,
      ),
      ...unused.map(name => `"openapi.auth" has ${quote(name)}, which no operation uses`),
    ]
  }

  #note(name: string): void {
    const counts = isSendable(this.#scheme(name)?.definition ?? {}) ? this.#missing : this.#unsendable
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }

  /** Undefined: no value for it. */
  #named(name: string, scopes: JsonValue): readonly Proof[] | undefined {
    const scheme = this.#scheme(name)
    if (scheme?.credential) this.#used.add(name)
    const definition = scheme?.definition ?? {}
    if (this.#isManual(definition)) return []
    if (!isSendable(definition)) return undefined
    return scheme?.credential && this.#proof(definition, scheme.credential, texts(scopes))
  }

  #scheme(name: string): Scheme | undefined {
    const { root, references, credentials } = this.#options
    const schemes = isJsonObject(root.components) ? root.components.securitySchemes : undefined
    const own = isJsonObject(schemes) && Object.hasOwn(schemes, name) ? schemes[name] : undefined
    const credential = credentials.get(name)
    try {
      return { definition: { ...references.follow(own), ...defined(credential) }, credential }
    } catch (error) {
      if (error instanceof CannotBuild) return undefined
      throw error
    }
  }

  #isManual({ type, in: place, name }: JsonObject): boolean {
    const header = type === 'apiKey' ? (place === 'header' ? String(name).toLowerCase() : undefined) : 'authorization'
    return type !== undefined && header !== undefined && this.#options.manual.has(header)
  }

  #proof(definition: JsonObject, credential: Credential, scopes: readonly string[]): readonly Proof[] | undefined {
    const { type, in: place, name, scheme } = { ...definition, ...defined(credential) }
    const secret = credential.value ?? credential.token
    if (type === 'apiKey') {
      if (secret === undefined || typeof name !== 'string') return undefined
      if (place === 'query' || place === 'cookie') return [{ kind: place, name, value: secret }]
      return [{ kind: 'header', name: name.toLowerCase(), value: secret }]
    }
    if (type === 'http' && String(scheme).toLowerCase() === 'basic') return basic(credential)
    const bearer = credential.token ?? credential.value
    if (bearer !== undefined) return [{ kind: 'header', name: 'authorization', value: `Bearer ${bearer}` }]
    const tokenPlace = type === 'http' ? undefined : this.#tokenPlace(definition, credential, scopes)
    return tokenPlace && [{ kind: 'token', place: tokenPlace }]
  }

  #tokenPlace(definition: JsonObject, credential: Credential, wanted: readonly string[]): TokenPlace | undefined {
    const { clientId, clientSecret } = credential
    if (clientId === undefined || clientSecret === undefined) return undefined
    const flows = isJsonObject(definition.flows) ? definition.flows : {}
    const flow = isJsonObject(flows.clientCredentials) ? flows.clientCredentials : {}
    const url = this.#absolute(credential.tokenUrl ?? flow.tokenUrl)
    const discovery = this.#absolute(credential.openIdConnectUrl ?? definition.openIdConnectUrl)
    const endpoint = url !== undefined ? { url } : discovery !== undefined ? { discovery } : undefined
    return endpoint && { endpoint, clientId, clientSecret, scopes: credential.scopes ?? wanted }
  }

  #absolute(address: JsonValue | undefined): string | undefined {
    return typeof address === 'string' ? URL.parse(address, this.#options.base)?.href : undefined
  }
}

function basic({ username, password, value }: Credential): readonly Proof[] | undefined {
  const pair = username !== undefined && password !== undefined ? `${username}:${password}` : value
  if (pair === undefined || !pair.includes(':')) return undefined
  return [{ kind: 'header', name: 'authorization', value: `Basic ${Buffer.from(pair).toString('base64')}` }]
}

/** The configured definition of the scheme, which overrides the document. */
function defined(credential: Credential | undefined): JsonObject {
  const { type, in: place, name, scheme } = credential ?? {}
  const short =
    type === 'basic' || type === 'bearer' ? { type: 'http', scheme: type } : type === undefined ? {} : { type }
  return {
    ...(scheme === undefined ? {} : { scheme }),
    ...short,
    ...(place === undefined ? {} : { in: place }),
    ...(name === undefined ? {} : { name }),
  }
}

function isSendable({ type, scheme }: JsonObject): boolean {
  if (type === 'http') return /^(?:basic|bearer)$/i.test(String(scheme))
  return type === 'apiKey' || type === 'oauth2' || type === 'openIdConnect'
}

function wants(count: number): string {
  return count === 1 ? '1 operation wants' : `${count} operations want`
}

function quote(name: string): string {
  return JSON.stringify(name.slice(0, 64))
}

function texts(value: JsonValue): readonly string[] {
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
}
