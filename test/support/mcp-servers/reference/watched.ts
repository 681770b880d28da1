import type { McpServer, ServerContext } from '@modelcontextprotocol/server'
import { fromJsonSchema } from '@modelcontextprotocol/server'
import { textResult } from './content.ts'

const QUESTIONS: Readonly<Record<string, object>> = {
  'sampling/createMessage': {
    params: { messages: [{ role: 'user', content: { type: 'text', text: 'Who?' } }], maxTokens: 10 },
  },
  'elicitation/create': {
    params: { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
  },
}

/** An event of one call, under the key that its caller gave it. */
interface Noted {
  readonly event: 'begun' | 'cancelled' | 'released' | 'subscribed' | 'unsubscribed'
  readonly key: string
}

/** One server object that serves a connection. */
interface Served {
  readonly server: McpServer
  readonly wants: (uri: string) => boolean
}

/** Notifications of changes if no server object lives longer than a request. */
export interface SharedNotices {
  lists(): void
  updated(uri: string): void
}

/**
 * All server objects of one process, and the events on them: tools by which a test can see from another connection what the
 * upstream saw of a call.
 */
export class Watched {
  readonly #notices: SharedNotices | undefined
  readonly #noted: Noted[] = []
  readonly #served = new Set<Served>()
  readonly #held = new Map<string, () => void>()
  readonly #grown: string[] = []

  constructor(notices?: SharedNotices) {
    this.#notices = notices
  }

  /** Notifies the peer of `server` of changes from now on. Returns the resources that it has subscribed to. */
  serve(server: McpServer): Set<string> {
    const subscriptions = new Set<string>()
    this.#add(server, uri => subscriptions.has(uri))
    server.server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
      subscriptions.add(uri)
      this.#noted.push({ event: 'subscribed', key: uri })
      return {}
    })
    server.server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
      subscriptions.delete(uri)
      this.#noted.push({ event: 'unsubscribed', key: uri })
      return {}
    })
    return subscriptions
  }

  /** The same if the code behind `server` manages the listeners. */
  serveListeners(server: McpServer): void {
    this.#add(server, () => true)
  }

  /**
   * The tools: `echo` of a text; `steps`, progress 1, 2, 3 of 3; `hold`, until it is released or cancelled; `talk`, one log
   * message at each level; `ask`, a request of that method to its client, whatever capabilities the client declared; `touch` of
   * a resource; `grow` by a tool, a prompt and a resource of that name; `journal`, the recorded events; `link` to a resource.
   */
  register(server: McpServer): void {
    const tool = (name: string, argument: string, handle: (value: string, ctx: ServerContext) => unknown): void => {
      const properties = { [argument]: { type: 'string' } }
      const inputSchema = fromJsonSchema<Record<string, string>>({
        type: 'object',
        properties: properties as Record<string, { type: 'string' }>,
        required: [argument],
      })
      server.registerTool(name, { description: `${name} of ${argument}`, inputSchema }, async (args, ctx) => {
        const said = await handle(args[argument] ?? '', ctx)
        return textResult(typeof said === 'string' ? said : JSON.stringify(said))
      })
    }
    tool('echo', 'text', text => text)
    tool('steps', 'key', async (message, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken
      for (const progress of progressToken === undefined ? [] : [1, 2, 3])
        await ctx.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken: progressToken as string, progress, total: 3, message },
        })
      return progressToken === undefined ? 'no token' : 'told'
    })
    tool('hold', 'key', (key, ctx) => this.#hold(key, ctx.mcpReq.signal))
    tool('release', 'key', key => {
      this.#held.get(key)?.()
      return 'released'
    })
    tool('talk', 'key', async (key, ctx) => {
      for (const level of ['debug', 'info', 'warning', 'error'] as const) await ctx.mcpReq.log(level, key)
      return 'said'
    })
    tool('ask', 'method', (method, ctx) => this.#ask(method, ctx))
    tool('touch', 'uri', async uri => {
      this.#notices?.updated(uri)
      for (const { server: each, wants } of this.#served) if (wants(uri)) await each.server.sendResourceUpdated({ uri })
      return 'touched'
    })
    tool('grow', 'name', name => this.#grow(name))
    tool('journal', 'event', event => this.#noted.filter(one => one.event === event).map(({ key }) => key))
    server.registerTool('link', { description: 'links to a resource' }, () => ({
      content: [{ type: 'resource_link' as const, uri: 'test://watched-resource', name: 'watched' }],
    }))
    for (const name of this.#grown) registerGrown(server, name)
  }

  #add(server: McpServer, wants: Served['wants']): void {
    const served: Served = { server, wants }
    this.#served.add(served)
    server.server.onclose = () => this.#served.delete(served)
  }

  async #hold(key: string, signal: AbortSignal): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<Noted['event']>()
    this.#held.set(key, () => resolve('released'))
    signal.addEventListener('abort', () => resolve('cancelled'))
    this.#noted.push({ event: 'begun', key })
    const event = await promise
    this.#held.delete(key)
    this.#noted.push({ event, key })
    return `${event} ${key}`
  }

  async #ask(method: string, ctx: ServerContext): Promise<string> {
    ctx.mcpReq.signal.addEventListener('abort', () => this.#noted.push({ event: 'cancelled', key: method }))
    const question = { method: method as 'roots/list', ...QUESTIONS[method] }
    return ctx.mcpReq.send(question).then(
      answer => `answered ${JSON.stringify(answer)}`,
      (error: { readonly code?: number }) => `refused ${error.code}`,
    )
  }

  #grow(name: string): string {
    this.#grown.push(name)
    // Each server object notifies its own peer that its list has changed.
    for (const { server } of this.#served) registerGrown(server, name)
    this.#notices?.lists()
    return name
  }
}

function registerGrown(server: McpServer, name: string): void {
  const description = 'Came later'
  server.registerTool(name, { description }, () => textResult(`this is ${name}`))
  server.registerPrompt(name, { description }, () => ({
    messages: [{ role: 'user', content: { type: 'text', text: `this is ${name}` } }],
  }))
  server.registerResource(name, `grown://${name}`, { description }, ({ href }) => ({
    contents: [{ uri: href, text: `this is ${name}` }],
  }))
}
