import { Redactor } from './redact.ts'

interface Held {
  readonly own: readonly string[]
  readonly lent: readonly string[]
  readonly redactor: Redactor
}

/** For each server the redactor that knows its secrets, and no others. */
export class ServerRedactors {
  readonly #none = new Redactor()
  readonly #held = new Map<string, Held>()

  /**
   * From now on these are the server's secrets. `lent`: keys of its owner that are used for it; absent: those of before.
   * Returns a redactor that stays as it is when others are held later, for what is opened with these.
   */
  hold(serverId: string, own: readonly string[], lent?: readonly string[]): Redactor {
    const before = this.#held.get(serverId)
    const keys = lent ?? before?.lent ?? []
    if (before && isSame(before.own, own) && isSame(before.lent, keys)) return before.redactor
    const redactor = new Redactor([...own, ...keys])
    this.#held.set(serverId, { own, lent: keys, redactor })
    return redactor
  }

  /** The redactor of a server; one without secrets where none are held. */
  of(serverId: string): Pick<Redactor, 'text' | 'record'> {
    return this.#held.get(serverId)?.redactor ?? this.#none
  }

  /**
   * What a process says that dies of a fault, without the secrets of any server. Only for a text that no user reads: in any
   * other it would tell one owner what another one's secrets are.
   */
  lastWords(text: string): string {
    let said = text
    for (const { redactor } of this.#held.values()) said = redactor.text(said)
    return said
  }

  forget(serverId: string): void {
    this.#held.delete(serverId)
  }
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index])
}
