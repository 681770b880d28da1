import { HubError } from '../../contract/errors.ts'
import { quoteName } from '../../domain/names.ts'
import type { ImportScope } from '../import-scope.ts'

/** Finds the users and teams here that a document names. One document names the same ones often. */
export class Subjects {
  readonly #scope: ImportScope
  readonly #known = new Map<string, string | undefined>()

  constructor(scope: ImportScope) {
    this.#scope = scope
  }

  /**
   * The local subject, `user:name` or `team:name`, for a subject of the document: the one of the user's answer, else of the new
   * name that the user chose, else the one of exactly the same name. Undefined: it is asked for, and `warnings` say so. Null: the
   * user left it out.
   */
  async find(text: string, warnings: string[]): Promise<string | null | undefined> {
    const answer = this.#scope.options.answers[text]
    if (answer === '') return null
    const [kind = '', ...rest] = text.split(':')
    const former = rest.join(':')
    const name = this.#scope.nameOf(kind, former)
    if (answer === undefined && name === former) {
      const found = await this.#lookUp(text)
      // Another spelling can be another person: nobody gets what was meant for somebody of a similar name.
      if (found === text.normalize('NFC')) return found
      warnings.push(unknown(kind, text, found))
      return undefined
    }
    const wanted = answer === undefined ? name : answer
    const found = await this.#lookUp(wanted.startsWith(`${kind}:`) ? wanted : `${kind}:${wanted}`)
    if (found === undefined) warnings.push(unknown(kind, `${kind}:${wanted.replace(`${kind}:`, '')}`, undefined))
    return found
  }

  async #lookUp(text: string): Promise<string | undefined> {
    if (!this.#known.has(text)) this.#known.set(text, await this.#here(text))
    return this.#known.get(text)
  }

  async #here(text: string): Promise<string | undefined> {
    try {
      return await this.#scope.parts.registry.shares.subject(text)
    } catch (error) {
      if (error instanceof HubError && error.status < 500) return undefined
      throw error
    }
  }
}

function unknown(kind: string, text: string, similar: string | undefined): string {
  if (kind !== 'user' && kind !== 'team') return `${quoteName(text)} is neither user:name nor team:name: it is left out`
  const there = similar === undefined ? '' : ` (there is ${quoteName(similar)}, which is written otherwise)`
  const make = kind === 'user' ? 'have the account made' : 'have the team made'
  return `There is no ${quoteName(text)} here${there}: ${make}, or answer the name of the ${kind} to use in its place`
}
