import { HubError } from '../../contract/errors.ts'
import type { EventBus } from '../../events/bus.ts'
import type {
  CredentialChange,
  CredentialSource,
  CredentialStanding,
  CredentialTarget,
} from '../../features/credentials.ts'
import type { EffectiveServer } from '../../registry/api.ts'

type Sources = () => ReadonlyMap<string, CredentialSource>

interface Parts {
  readonly bus: Pick<EventBus, 'emit'>
  readonly effective: (serverId: string) => Promise<EffectiveServer>
  /** Tells the server's connections. */
  readonly changed: (serverId: string, userId: string, change: CredentialChange) => void
  /** Tells them that a user holds nothing valid any more. */
  readonly missing: (serverId: string, userId: string) => void
}

/** Credentials of users for servers, from the sources of credentials, with an event for each change. */
export class CallerCredentials {
  readonly #sources: Sources
  readonly #parts: Parts

  constructor(sources: Sources, parts: Parts) {
    this.#sources = sources
    this.#parts = parts
  }

  /** The sources; an error by which one says that the user has nothing valid is an event as well. */
  watched(): ReadonlyMap<string, CredentialSource> {
    return new Map(Array.from(this.#sources(), ([id, source]) => [id, this.#watch(source)]))
  }

  /** A user's credential for the server is there, is another one, or must not be used any more. */
  changed(serverId: string, userId: string, change: CredentialChange): void {
    this.#emit(serverId, userId, change !== 'lost')
    this.#parts.changed(serverId, userId, change)
  }

  /** The user's credential; undefined where no source has a say. Rejects as `effective` of the registry does. */
  async standing(serverId: string, userId: string): Promise<CredentialStanding | undefined> {
    const sources = [...this.#sources().values()].filter(source => source.standing !== undefined)
    if (sources.length === 0) return undefined
    const { settings, ownerId } = await this.#parts.effective(serverId)
    const { name, transport, config } = settings
    const target: CredentialTarget = { id: serverId, ownerId, name, transport, config }
    for (const source of sources) {
      const standing = await source.standing?.(target, userId)
      if (standing) return standing
    }
    return undefined
  }

  #watch(source: CredentialSource): CredentialSource {
    const noting = <T>(server: CredentialTarget, userId: string, asked: Promise<T>): Promise<T> =>
      asked.catch((error: unknown) => {
        if (isMissing(error)) {
          this.#parts.missing(server.id, userId)
          this.#emit(server.id, userId, false)
        }
        throw error
      })
    return {
      forConnection: (server, userId) => noting(server, userId, source.forConnection(server, userId)),
      refused: (server, userId, ...rest) => noting(server, userId, source.refused(server, userId, ...rest)),
    }
  }

  #emit(serverId: string, userId: string, held: boolean): void {
    this.#parts.bus.emit('credential.changed', userId, { serverId, userId, held }, 'internal')
  }
}

/** True for an error that a person ends at a page. A permission that is too narrow leaves what the user holds valid. */
function isMissing(error: unknown): boolean {
  return error instanceof HubError && error.data?.connectUrl !== undefined && error.status !== 403
}
