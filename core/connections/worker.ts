import { HubError, toWireError } from '../contract/errors.ts'
import { isJsonObject } from '../contract/json.ts'
import type { GuardedFetch, TransportDefinition } from '../contract/transport.ts'
import { createLookup } from '../http/outbound-lookup.ts'
import { registerContractModule } from '../plugin-host/contract-module.ts'
import { type CarriedPipe, openDescriptors, openRelay } from './child-pipe.ts'
import { AnswersLink } from './links/answers.ts'
import { Deadlines } from './links/deadlines.ts'
import { LegacyLink } from './links/legacy.ts'
import type { LinkContext } from './links/mcp-link.ts'
import { ModernLink } from './links/modern.ts'
import type { UpstreamLink } from './links/upstream-link.ts'
import { processesBelow } from './process-tree.ts'
import { eachFrame, type FromWorker, type OpenMessage, readNumber, type ToWorker } from './protocol.ts'

interface Held {
  readonly link: UpstreamLink
  pipe?: CarriedPipe & { received?(chunk: Buffer): void }
}

/** A connection worker: holds the live links, and speaks with main by the messages of `protocol.ts`. */
class ConnectionWorker {
  readonly #scope: Worker
  readonly #held = new Map<number, Held>()
  readonly #deadlines = new Deadlines()
  readonly #lookup = createLookup()
  readonly #transports = new Map<string, Promise<TransportDefinition>>()
  #out: string[] = []
  #flushing = false
  #instanceId = ''
  #version = ''

  constructor(scope: Worker) {
    this.#scope = scope
  }

  receive(data: unknown): void {
    if (typeof data === 'string') eachFrame(data, frame => this.#frame(frame))
    else this.#control(data as ToWorker)
  }

  #frame(frame: string): void {
    const first = frame.indexOf(' ')
    const held = this.#held.get(readNumber(frame, 1))
    // A call for a connection that has ended: main learns by `closed` that it had not begun.
    if (!held) return
    const { link } = held
    const kind = frame.charCodeAt(0)
    if (kind === 115) {
      link.send(frame.slice(first + 1))
      return
    }
    const number = readNumber(frame, first + 1)
    const second = frame.indexOf(' ', first + 1)
    if (kind === 99) {
      link.call(number, frame.slice(second + 1))
    } else if (kind === 120) {
      link.cancel(number, JSON.parse(frame.slice(second + 1)) as string)
    } else if (kind === 97) {
      link.answer(number, frame.slice(second + 1))
    } else if (kind === 104 || kind === 118) {
      const length = readNumber(frame, second + 1)
      const headersAt = frame.indexOf(' ', second + 1) + 1
      const headers = JSON.parse(frame.slice(headersAt, headersAt + length)) as Readonly<Record<string, string>>
      const text = frame.slice(headersAt + length)
      if (kind === 118 && link instanceof ModernLink) link.callAsIs(number, text, headers)
      else link.callWith(number, text, headers)
    }
  }

  #control(message: ToWorker): void {
    switch (message.type) {
      case 'hello':
        this.#instanceId = message.instanceId
        this.#version = message.version
        this.#post({ type: 'ready' })
        return
      case 'ping':
        this.#post({ type: 'pong' })
        return
      case 'open':
        void this.#open(message)
        return
      case 'close':
        void this.#held.get(message.conn)?.link.close()
        return
      case 'limits':
        this.#held.get(message.conn)?.link.setLimits(message)
        return
      case 'refresh':
        this.#held.get(message.conn)?.link.refresh(message.kinds)
        return
      case 'child-exited':
        this.#held.get(message.conn)?.link.lost({ code: 'connection_lost', message: message.detail })
        return
      case 'bytes':
        this.#held.get(message.conn)?.pipe?.received?.(Buffer.from(message.bytes))
        return
    }
  }

  async #open(options: OpenMessage): Promise<void> {
    const { conn } = options
    const context: LinkContext = {
      version: this.#version,
      deadlines: this.#deadlines,
      frame: text => this.#queue(text),
      control: message => this.#post(options.child ? withLastLook(message, options.child.pid) : message),
      gone: () => {
        const held = this.#held.get(conn)
        this.#held.delete(conn)
        held?.pipe?.destroy()
      },
    }
    const link = makeLink(options, context)
    const held: Held = { link }
    this.#held.set(conn, held)
    try {
      const pipe = await this.#pipe(options, link)
      if (pipe) held.pipe = pipe
      if (link.signal.aborted) {
        pipe?.destroy()
        return
      }
      const transport = await this.#transport(options.module)
      const fetch = await this.#fetch(options, link.signal)
      await link.start(transport, { fetch, ...(pipe ? { child: pipe } : {}) }, () => pipe?.useful())
    } catch (error) {
      link.lost(toWireError(error))
    }
  }

  async #pipe(options: OpenMessage, link: UpstreamLink): Promise<Held['pipe']> {
    const { conn, child } = options
    if (!child) return undefined
    const pipeOptions = { closed: link.lost.bind(link), expecting: () => link.expecting }
    if (child.kind === 'descriptors') {
      return await openDescriptors(child, pipeOptions, () => this.#post({ type: 'taken', conn }))
    }
    return openRelay(pipeOptions, {
      write: text => this.#post({ type: 'write', conn, text }),
      end: () => this.#post({ type: 'end', conn }),
    })
  }

  #transport(module: string): Promise<TransportDefinition> {
    const known = this.#transports.get(module)
    if (known !== undefined) return known
    const loading = loadTransport(module)
    this.#transports.set(module, loading)
    // What failed to load is tried again at the next start.
    loading.catch(() => this.#transports.delete(module))
    return loading
  }

  /** The guarded client is loaded when the first link without a child needs it: it is most of a worker's memory. */
  async #fetch({ rights, child }: OpenMessage, signal: AbortSignal): Promise<GuardedFetch> {
    const make = async (): Promise<GuardedFetch> => {
      const { createGuardedFetch } = await import('../http/outbound.ts')
      return createGuardedFetch({ rights, instanceId: this.#instanceId, lookup: this.#lookup, signal })
    }
    if (!child) return await make()
    let made: Promise<GuardedFetch> | undefined
    return async (url, request) => {
      made ??= make()
      return await (await made)(url, request)
    }
  }

  #queue(frame: string): void {
    this.#out.push(frame)
    if (this.#flushing) return
    this.#flushing = true
    queueMicrotask(() => this.#flush())
  }

  #flush(): void {
    this.#flushing = false
    if (this.#out.length === 0) return
    const text = this.#out.length === 1 ? this.#out[0] : this.#out.join('\n')
    this.#out = []
    this.#scope.postMessage(text)
  }

  /** Objects must not overtake the frames that were written before them. */
  #post(message: FromWorker): void {
    this.#flush()
    this.#scope.postMessage(message)
  }
}

/** Seen here, since what has left the child's group cannot be found any more once the child is gone. */
function withLastLook(message: FromWorker, pid: number): FromWorker {
  if (message.type !== 'failed' && message.type !== 'closed') return message
  const below = processesBelow(pid)
  return below.length === 0 ? message : { ...message, below }
}

function makeLink(options: OpenMessage, context: LinkContext): UpstreamLink {
  if (options.kind === 'answers') return new AnswersLink(options, context)
  return options.era === 'modern' ? new ModernLink(options, context) : new LegacyLink(options, context)
}

async function loadTransport(module: string): Promise<TransportDefinition> {
  const loaded: unknown = await import(module)
  const definition = isModule(loaded) ? loaded.default : undefined
  if (!isTransport(definition)) {
    throw new HubError('transport_unavailable', `The module ${module} has no default export made by defineTransport()`)
  }
  return definition
}

function isModule(value: unknown): value is { readonly default: unknown } {
  return typeof value === 'object' && value !== null && 'default' in value
}

function isTransport(value: unknown): value is TransportDefinition {
  if (!isJsonObject(value)) return false
  const candidate: { readonly kind?: unknown; readonly open?: unknown } = value
  return (candidate.kind === 'messages' || candidate.kind === 'answers') && typeof candidate.open === 'function'
}

declare const self: Worker

registerContractModule()
const worker = new ConnectionWorker(self)
// A rejection that nobody handled belongs to one link at most: the others go on. With no handler the thread would end.
process.on('unhandledRejection', error => {
  self.postMessage({
    type: 'log',
    conn: 0,
    level: 'error',
    message: `Unhandled rejection in a worker: ${String(error)}`,
  })
})
self.onmessage = event => worker.receive(event.data)
