import { Redactor } from './redact.ts'

interface Held {
  readonly own: readonly string[]
  readonly lent: readonly string[]
  readonly redactor: Redactor
}

/** One redactor for each server, with that server's secrets only. */
export class ServerRedactors {
  readonly #none = new Redactor()
  readonly #held = new Map<string, Held>()

  /**
   * Replaces the server's secrets. `lent`: keys of its owner that are used for it; absent: unchanged. Returns a
   * redactor that later calls do not change, for a connection that uses these secrets.
   */
  hold(serverId: string, own: readonly string[], lent?: readonly string[]): Redactor {
    const before = this.#held.get(serverId)
    const keys = lent ?? before?.lent ?? []
    if (before && isSame(before.own, own) && isSame(before.lent, keys)) return before.redactor
    const redactor = new Redactor([...own, ...keys])
    this.#held.set(serverId, { own, lent: keys, redactor })
    return redactor
  }

  /** The redactor of a server; without secrets if there are none. */
  of(serverId: string): Pick<Redactor, 'text' | 'record' | 'member'> {
    return this.#held.get(serverId)?.redactor ?? this.#none
  }

  /**
   * Redacts the secrets of all servers from the crash message of a process. Only for a text that no user reads: any
   * other would let one owner test guesses at another's secrets.
   */
  redactAll(text: string): string {
    let redacted = text
    for (const { redactor } of this.#held.values()) redacted = redactor.text(redacted)
    return redacted
  }

  forget(serverId: string): void {
    this.#held.delete(serverId)
  }
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index])
}
