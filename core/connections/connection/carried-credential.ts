import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { ServerSettings } from '../../contract/records.ts'
import type { Brought, CredentialChallenge, CredentialSource, CredentialTarget } from '../../features/credentials.ts'
import { secretParts } from '../../secrets/parts.ts'
import { Redactor } from '../../secrets/redact.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import { toWireError } from '../../transport-kit/wire-error.ts'
import type { CarriedHeaders } from '../protocol.ts'

/** The answer to a refusal: other headers, an error, or neither, where the refusal stands. */
export interface RefusalAnswer {
  readonly carried?: CarriedHeaders
  readonly error?: WireError
}

/** The headers that connections to one server carry for one user, from the first source that has a say. */
export class CarriedCredential {
  readonly userId: string
  readonly target: CredentialTarget
  readonly #sources: () => ReadonlyMap<string, CredentialSource>
  #source: CredentialSource | undefined
  #brought: Brought | undefined

  constructor(sources: () => ReadonlyMap<string, CredentialSource>, target: CredentialTarget, userId: string) {
    this.#sources = sources
    this.target = target
    this.userId = userId
  }

  /** The headers for the worker, with the texts to redact. */
  get carried(): CarriedHeaders {
    const { headers = {}, version = 0, proofKey } = this.#brought ?? {}
    const secrets = Object.values(headers).flatMap(secretParts)
    if (!proofKey) return { headers, version, secrets }
    return { headers, version, proofKey, secrets: [...secrets, ...secretParts(String(proofKey.d ?? ''))] }
  }

  /** The variables for the process of the user. */
  get env(): Readonly<Record<string, string>> {
    return this.#brought?.env ?? {}
  }

  /** Asks for the present headers. Throws as the source does. */
  async load(): Promise<CarriedHeaders> {
    for (const source of this.#sources().values()) {
      const brought = await source.forConnection(this.target, this.userId)
      if (!brought) continue
      this.#source = source
      this.#brought = brought
      return this.carried
    }
    this.#brought = undefined
    return this.carried
  }

  /** The server refused the headers of this version; 0: there were none. Never rejects. */
  async refused(version: number, challenge: CredentialChallenge): Promise<RefusalAnswer> {
    const before = this.#brought
    if (before && before.version > version) return { carried: this.carried }
    try {
      const used = before && { id: before.id, version }
      for (const source of this.#source ? [this.#source] : this.#sources().values()) {
        const brought = await source.refused(this.target, this.userId, used, challenge)
        if (!brought) continue
        this.#source = source
        this.#brought = brought
        return { carried: this.carried }
      }
      return {}
    } catch (error) {
      return { error: toWireError(error) }
    }
  }
}

/**
 * The credential for connections to a server with a URL, or whose users bring values of their own; undefined where nothing brings one,
 * or the configuration has an `Authorization` itself. `lent`: the headers of header providers. Throws as the source does.
 */
export async function carriedCredential(
  sources: () => ReadonlyMap<string, CredentialSource>,
  target: Omit<CredentialTarget, 'config' | 'name' | 'transport'>,
  { name, transport, config }: Pick<ServerSettings, 'name' | 'transport' | 'config'>,
  lent: Readonly<Record<string, string>>,
  userId: string,
): Promise<CarriedCredential | undefined> {
  if (sources().size === 0) return undefined
  const names = [...Object.keys(headersIn(config)), ...Object.keys(lent)]
  const isSet = typeof config.url !== 'string' || names.some(header => header.toLowerCase() === 'authorization')
  // Users enter their own values, whatever the owner has set besides; nobody signs in then.
  if (isSet && config.bring === undefined) return undefined
  const credential = new CarriedCredential(sources, { ...target, name, transport, config }, userId)
  await credential.load()
  return credential
}

function headersIn({ headers }: JsonObject): JsonObject {
  return isJsonObject(headers) ? headers : {}
}

/** A redactor of its own for the values of one user: that of the server would forget those of others. */
export function withUserValues(ofServer: Redactor, values: readonly string[]): Redactor {
  return values.length === 0 ? ofServer : new Redactor([...ofServer.secrets, ...values.flatMap(secretParts)])
}
