import type { JsonObject } from '../../contract/json.ts'
import { notificationMessage } from './rpc.ts'

/** A notification to clients that belongs to no call. Its text is serialized once, for all recipients. */
export class Notice {
  readonly method: string
  readonly params: JsonObject | undefined
  #text: string | undefined

  constructor(method: string, params?: JsonObject) {
    this.method = method
    this.params = params
  }

  /** The whole message as JSON text. */
  get text(): string {
    this.#text ??= notificationMessage(this.method, this.params)
    return this.#text
  }
}
