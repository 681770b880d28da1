import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import { isJsonObject } from '../../contract/json.ts'
import { LONG_CHARACTERS } from '../../domain/json/long-text.ts'
import { withInlineDocument } from '../../domain/server/openapi.ts'
import { createLookup } from '../../outbound/lookup.ts'
import { Redactor } from '../../secrets/redact.ts'
import type { TransportDefinition } from '../../transport-kit/definition.ts'
import { registerPluginModules } from '../../transport-kit/module.ts'
import { withoutRedirects } from '../../transport-kit/redirects.ts'
import { readTls } from '../../transport-kit/tls.ts'
import { toWireError } from '../../transport-kit/wire-error.ts'
import { GarbageWatch } from '../process/garbage-watch.ts'
import { processesBelow } from '../process/process-tree.ts'
import { FrameQueue } from '../protocol/frame-queue.ts'
import {
  connectionOf,
  decodeCallerFrame,
  eachFrame,
  encodeUpstreamFrame,
  type UpstreamFrame,
} from '../protocol/frames.ts'
import type { FromWorker, LongResult, OpenMessage, ToWorker } from '../protocol.ts'
import { AnswerWindow } from './answer-window.ts'
import type { CarriedPipe } from './child-pipe.ts'
import { CredentialFetch } from './credential-fetch.ts'
import { Deadlines } from './deadlines.ts'
import { AnswersLink } from './links/answers.ts'
import { LegacyLink } from './links/legacy.ts'
import type { LinkContext } from './links/link-context.ts'
import { ModernLink } from './links/modern.ts'
import type { LinkIo, UpstreamLink } from './links/upstream-link.ts'
import { ListPaces } from './lists/list-paces.ts'
import { openDescriptors, openRelay } from './open-pipe.ts'
import { cleaned } from './upstream-texts.ts'
import { WriteBacklog } from './write-backlog.ts'

/** Bytes of large messages of a worker between two garbage collections. */
const GARBAGE_PERIOD_BYTES = 12 * 1024 * 1024

interface Held {
  readonly link: UpstreamLink
  pipe?: CarriedPipe & { received?(chunk: Buffer): void }
  readonly credential: CredentialFetch | undefined
}

/** A connection worker: holds the live links, and exchanges the messages of `protocol.ts` with main. */
class ConnectionWorker {
  readonly #scope: Worker
  readonly #held = new Map<number, Held>()
  readonly #deadlines = new Deadlines()
  readonly #paces = new ListPaces()
  readonly #lookup = createLookup()
  /** One per owner, so that no connection waits for another user's servers. */
  readonly #windows = new Map<string, AnswerWindow>()
  readonly #backlogs = new Map<string, WriteBacklog>()
  readonly #transports = new Map<string, Promise<TransportDefinition>>()
  readonly #garbage = new GarbageWatch({ periodBytes: GARBAGE_PERIOD_BYTES })
  readonly #frames: FrameQueue
  #instanceId = ''
  #version = ''

  constructor(scope: Worker) {
    this.#scope = scope
    this.#frames = new FrameQueue(queueMicrotask, text => {
      scope.postMessage(text)
      this.#garbage.message(text.length)
    })
  }

  receive(data: unknown): void {
    if (typeof data === 'string') {
      eachFrame(data, frame => this.#frame(frame))
      this.#garbage.message(data.length)
    } else this.#control(data as ToWorker)
  }

  #frame(text: string): void {
    const held = this.#held.get(connectionOf(text))
    // A call for a connection that has ended: `closed` says to main that it was not begun.
    if (!held) return
    const { link } = held
    const frame = decodeCallerFrame(text)
    switch (frame.kind) {
      case 'call':
        return link.call(frame.id, frame.text)
      case 'call-with-headers':
        return link.callWith(frame.id, frame.text, frame.headers, frame.style)
      case 'cancel':
        return link.cancel(frame.id, frame.reason)
      case 'send':
        return link.send(frame.text)
      case 'answer':
        return link.answer(frame.key, frame.text)
    }
  }

  #control(message: ToWorker): void {
    switch (message.type) {
      case 'hello':
        this.#instanceId = message.instanceId
        this.#version = message.version
        this.#post({ type: 'ready' })
        return
      case 'result-taken':
        this.#windows.get(message.owner)?.settled(message.bytes)
        return
      case 'end-largest':
        this.#backlogs.get(message.owner)?.endLargest(message.least)
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
        this.#held.get(message.conn)?.pipe?.setMaxBytes(message.maxResultBytes)
        return
      case 'refresh':
        this.#held.get(message.conn)?.link.refresh(message.kinds)
        return
      case 'list-taken':
        this.#held.get(message.conn)?.link.listTaken(message.kind, message.full)
        return
      case 'credential':
        return this.#held.get(message.conn)?.credential?.take(message)
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
    const { credential: carried } = options
    const redactor = new Redactor(options.secrets)
    const say = (message: FromWorker) => this.#post(cleaned(message, text => redactor.text(text)))
    const context: LinkContext = {
      version: this.#version,
      deadlines: this.#deadlines,
      paces: this.#paces,
      frame: frame => {
        if (isLongResult(frame)) this.#long(frame, options)
        else this.#frames.push(encodeUpstreamFrame(conn, frame))
      },
      control: message => say(options.child ? withDescendants(message, options.child.pid) : message),
      gone: () => {
        const held = this.#held.get(conn)
        this.#held.delete(conn)
        held?.pipe?.destroy()
      },
    }
    const link = makeLink(withDocument(options), context)
    const credential =
      carried &&
      new CredentialFetch(options.config.url, carried, {
        refused: refusal => this.#post({ type: 'credential-refused', conn, ...refusal }),
        secrets: texts => redactor.add(...texts),
      })
    const held: Held = { link, credential }
    this.#held.set(conn, held)
    try {
      const pipe = await this.#pipe(options, link)
      if (pipe) held.pipe = pipe
      if (link.signal.aborted) {
        pipe?.destroy()
        return
      }
      const transport = await this.#transport(options.module)
      const client = await this.#client(options, link.signal, credential)
      await link.start(transport, { ...client, ...(pipe ? { child: pipe } : {}) }, () => pipe?.countAsAnswer())
    } catch (error) {
      if (!(error instanceof HubError))
        context.control({ type: 'log', conn, level: 'error', message: `The connection failed: ${String(error)}` })
      link.lost(toWireError(error))
    }
  }

  async #pipe(options: OpenMessage, link: UpstreamLink): Promise<Held['pipe']> {
    const { conn, child } = options
    if (!child) return undefined
    const pipeOptions = {
      closed: link.lost.bind(link),
      expecting: () => link.expecting,
      maxBytes: options.maxResultBytes,
      tooLong: link.tooLong.bind(link),
      window: this.#windowOf(options.owner),
      backlog: this.#backlogOf(options.owner),
    }
    if (child.kind === 'descriptors') {
      return await openDescriptors(child, pipeOptions, () => this.#post({ type: 'taken', conn }))
    }
    return openRelay(pipeOptions, {
      write: text => this.#post({ type: 'write', conn, text }),
      end: () => this.#post({ type: 'end', conn }),
    })
  }

  #windowOf(owner: string): AnswerWindow {
    const known = this.#windows.get(owner)
    if (known) return known
    const window = new AnswerWindow(LIMITS.unsettledAnswerBytes)
    this.#windows.set(owner, window)
    return window
  }

  #backlogOf(owner: string): WriteBacklog {
    const known = this.#backlogs.get(owner)
    if (known) return known
    const backlog = new WriteBacklog(LIMITS.ownerWriteBacklogBytes, {
      report: (bytes, largest) => this.#post({ type: 'backlog', owner, bytes, largest }),
    })
    this.#backlogs.set(owner, backlog)
    return backlog
  }

  #transport(module: string): Promise<TransportDefinition> {
    const known = this.#transports.get(module)
    if (known !== undefined) return known
    const loading = loadTransport(module)
    this.#transports.set(module, loading)
    // A module that failed to load is loaded again at the next start.
    loading.catch(() => this.#transports.delete(module))
    return loading
  }

  /** The guarded client is loaded when the first link without a child needs it: it is most of a worker's memory. */
  async #client(
    { rights, child, owner, redirects, config }: OpenMessage,
    signal: AbortSignal,
    credential: CredentialFetch | undefined,
  ): Promise<LinkIo> {
    const { turns } = this.#windowOf(owner)
    const make = async (): Promise<LinkIo> => {
      const { createGuardedFetch } = await import('../../outbound/create.ts')
      const { createGuardedConnect } = await import('../../outbound/websocket.ts')
      const tls = readTls(config.tls)
      const rules = { rights, instanceId: this.#instanceId, lookup: this.#lookup, signal, ...(tls && { tls }) }
      // Many that arrive at the same time hold much before the first of them is whole.
      const received = (bytes: number): void => this.#garbage.message(bytes)
      const fetch = createGuardedFetch({ ...rules, turns, received })
      const guarded = redirects === 'none' ? withoutRedirects(fetch) : fetch
      return { fetch: credential?.around(guarded) ?? guarded, reach: fetch.reach, connect: createGuardedConnect(rules) }
    }
    if (!child) return await make()
    let made: Promise<LinkIo> | undefined
    const ready = (): Promise<LinkIo> => {
      made ??= make()
      return made
    }
    return {
      fetch: async (url, request) => await (await ready()).fetch(url, request),
      reach: async (url, caller) => await (await ready()).reach(url, caller),
      connect: async (url, request) => await (await ready()).connect(url, request),
    }
  }

  /** Sends a long result as bytes, which main neither parses nor copies. */
  #long({ id, form, text }: ResultFrame, { conn, owner }: OpenMessage): void {
    const bytes = new TextEncoder().encode(text)
    this.#windowOf(owner).sent(bytes.byteLength)
    this.#frames.flush()
    const message: LongResult = { type: 'result', conn, id, isError: form === 'error', owner, bytes }
    this.#scope.postMessage(message, [bytes.buffer])
    this.#garbage.message(text.length)
  }

  /** Sends an object after the frames written before it, so that the order is kept. */
  #post(message: FromWorker): void {
    this.#frames.flush()
    this.#scope.postMessage(message)
  }
}

type ResultFrame = Extract<UpstreamFrame, { readonly kind: 'result' }>

function isLongResult(frame: UpstreamFrame): frame is ResultFrame {
  // Main parses a result that requests input.
  return (
    frame.kind === 'result' && frame.form !== 'input' && frame.form !== 'task' && frame.text.length > LONG_CHARACTERS
  )
}

/** Lists the processes that left the child's group now, since they cannot be found once the child has exited. */
function withDescendants(message: FromWorker, pid: number): FromWorker {
  if (message.type !== 'failed' && message.type !== 'closed') return message
  const below = processesBelow(pid)
  return below.length === 0 ? message : { ...message, below }
}

/** Decodes, and later parses, the document in the worker: 16 MiB would block the main thread too long. */
function withDocument({ document, ...options }: OpenMessage): OpenMessage {
  if (!document) return options
  return { ...options, config: withInlineDocument(options.config, new TextDecoder().decode(document)) }
}

function makeLink(options: OpenMessage, context: LinkContext): UpstreamLink {
  if (options.kind === 'answers') return new AnswersLink(options, context)
  return options.era === 'modern' ? new ModernLink(options, context) : new LegacyLink(options, context)
}

async function loadTransport(module: string): Promise<TransportDefinition> {
  // The mark behind `#` says at which start of the plugin; see `WorkerPort.takes`.
  const loaded: unknown = await import(module.replace(/#.*$/, ''))
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

/** Returns the place where an error was thrown, without its message, which may contain secrets of any server. */
function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const frames = (error.stack ?? '').split('\n').filter(line => /^\s+at /.test(line))
  return [error.name, ...frames.map(line => line.trim())].join(' ')
}

declare const self: Worker

registerPluginModules()
const worker = new ConnectionWorker(self)
// An unhandled rejection concerns one link at most: the others go on. Without a handler the thread would end.
process.on('unhandledRejection', error => {
  self.postMessage({
    type: 'log',
    conn: 0,
    level: 'error',
    message: `Unhandled rejection in a worker: ${placeOf(error)}`,
  })
})
self.onmessage = event => worker.receive(event.data)
