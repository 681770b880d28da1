import { isJsonObject, type JsonObject } from 'patchbay/contract'
import { type Operation, shownOperation } from './operations.ts'
import { CannotBuild, type References } from './references.ts'

/** Each status of an operation with its response; undefined if that is invalid. */
export type Responses = readonly (readonly [status: string, response: JsonObject | undefined])[]

/**
 * The responses of an operation. They only describe the API's answers, so a response with a broken reference, in itself or in
 * its schema, loses only its description. `lost` is called with the reason for each of these.
 */
export function readResponses(
  { responses }: JsonObject,
  references: References,
  lost: (reason: string) => void,
): Responses {
  return Object.entries(isJsonObject(responses) ? responses : {}).map(([status, response]) => {
    try {
      references.prove(response)
      return [status, references.follow(response)] as const
    } catch (error) {
      if (!(error instanceof CannotBuild)) throw error
      lost(error.message)
      return [status, undefined] as const
    }
  })
}

/** Collects parts of operations that are not described, so that one missing component is one warning. */
export class LostParts {
  readonly #what: string
  readonly #operations = new Map<string, Set<Operation>>()

  /** `what`: the part, as a sentence begins. */
  constructor(what: string) {
    this.#what = what
  }

  add(operation: Operation, reason: string): void {
    const known = this.#operations.get(reason)
    if (known) known.add(operation)
    else this.#operations.set(reason, new Set([operation]))
  }

  addAll(operation: Operation, reasons: readonly string[]): void {
    for (const reason of reasons) this.add(operation, reason)
  }

  warnings(): readonly string[] {
    return [...this.#operations].map(([reason, operations]) => {
      const [first] = operations
      const others = operations.size - 1
      const more = others === 0 ? '' : ` and ${others} other${others === 1 ? '' : 's'}`
      return `${this.#what} is not described, since ${reason}: ${first ? shownOperation(first) : ''}${more}`
    })
  }
}
