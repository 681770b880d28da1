import type { JsonObject } from '../../../contract/json.ts'
import type { ListCapability } from '../../../domain/mcp-methods.ts'
import type { ListKind, OpenMessage } from '../../protocol.ts'
import type { Ask, ListRequest } from '../lists/catalog-reader.ts'
import { KnownItems } from '../lists/list-parts.ts'
import { ListWatch } from '../lists/list-watch.ts'
import type { LinkContext } from './link-context.ts'

const ENDED = 'the connection has ended'

/** Callbacks and settings of a `LinkLists`. */
export interface LinkListsOptions {
  readonly context: LinkContext
  readonly options: Pick<OpenMessage, 'conn' | 'owner'>
  readonly ask: Ask
  readonly capabilities: JsonObject
  /** Lists that are asked for although the server did not declare them. */
  readonly undeclared: ReadonlySet<ListCapability>
  /** False once the link has ended: nothing is sent any more. */
  readonly open: () => boolean
  readonly listRequest?: ListRequest
  /** Warnings of the transport, added to those of the reading. */
  readonly warnings?: () => readonly string[]
}

/** The lists of one link: reads them, sends their items to main in parts, and waits until each part was accepted. */
export class LinkLists {
  readonly watch: ListWatch
  readonly #untaken = new Map<ListKind, (full: string | undefined) => void>()

  constructor({ context, options, ask, capabilities, undeclared, open, listRequest, warnings }: LinkListsOptions) {
    const { conn, owner } = options
    this.watch = new ListWatch({
      reader: {
        ask,
        capabilities,
        undeclared,
        ...(listRequest ? { listRequest } : {}),
        known: new KnownItems(),
        paces: context.paces,
        owner,
        take: async (kind, entries) => {
          await context.paces.part(owner)
          try {
            if (!open()) return ENDED
            const { promise, resolve } = Promise.withResolvers<string | undefined>()
            this.#untaken.set(kind, resolve)
            context.control({ type: 'list', conn, kind, entries })
            return await promise
          } finally {
            context.paces.taken(owner)
          }
        },
      },
      arm: atMs => context.deadlines.arm(atMs),
      read: (lists, noticed, more) => {
        if (!open()) return
        const withWarnings = warnings ? { ...lists, warnings: [...lists.warnings, ...warnings()] } : lists
        context.control({ type: 'catalog', conn, lists: withWarnings, noticed, more })
      },
    })
  }

  /** Main has accepted the last part of this list; `full`: the reason why it accepts no more. */
  taken(kind: ListKind, full: string | undefined): void {
    const resolve = this.#untaken.get(kind)
    this.#untaken.delete(kind)
    resolve?.(full)
  }

  end(): void {
    for (const resolve of this.#untaken.values()) resolve(ENDED)
    this.#untaken.clear()
    this.watch.end()
  }
}
