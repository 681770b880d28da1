import { HubError } from 'patchbay/contract'
import { bounded } from '../bounded.ts'

/** Codes for metadata that are not safe to use. */
const CODES: ReadonlySet<string> = new Set(['resource_mismatch', 'issuer_mismatch', 'pkce_unsupported'])

/** Why the metadata of a server were refused when a user last began to sign in, until the user's next attempt. */
export class MetadataRefusals {
  readonly #refused = new Map<string, HubError>()

  of(userId: string, serverId: string): HubError | undefined {
    return this.#refused.get(`${userId} ${serverId}`)
  }

  /** Notes the outcome of an attempt, and passes it on. */
  async during<T>(userId: string, serverId: string, attempt: Promise<T>): Promise<T> {
    this.#refused.delete(`${userId} ${serverId}`)
    try {
      return await attempt
    } catch (error) {
      if (error instanceof HubError && CODES.has(error.code)) bounded(this.#refused).set(`${userId} ${serverId}`, error)
      throw error
    }
  }
}
