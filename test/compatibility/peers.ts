import { type ClientOptions, Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js'
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ProgressNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Client } from '../support/hub.ts'
import { toolNames } from '../support/servers.ts'

/** Everything that reached one client without being the answer to a request of its own. */
export interface Heard {
  readonly progress: (readonly [token: unknown, progress: number, message: string | undefined])[]
  readonly logs: (readonly [level: string, data: unknown])[]
  readonly updates: string[]
  readonly changes: Record<ListKind, number>
  /** Requests of the server: the kind, with the text of the request. */
  readonly asked: string[]
}

export type ListKind = 'tools' | 'prompts' | 'resources'

export interface CallOptions {
  readonly token?: string | number
  readonly signal?: AbortSignal
}

interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text?: string; readonly uri?: string }[]
  readonly isError?: boolean
}

/** One connected client, whatever it speaks. Errors are those of its library, with `code` and `data` of the answer. */
export interface Peer {
  readonly heard: Heard
  call(name: string, args: Record<string, string>, options?: CallOptions): Promise<ToolResult>
  /** The names in a list. */
  names(kind: ListKind): Promise<string[]>
  promptText(name: string, args?: Record<string, string>): Promise<string>
  /** URI and text of each part. */
  read(uri: string): Promise<readonly (readonly [uri: string, text: unknown])[]>
  /** Wants log messages from this level up, of the session or of each call from now on. */
  setLevel(level: LogLevel): Promise<void>
  /** False when the hub left the resource out of what it honours. */
  subscribe(uri: string): Promise<boolean>
  unsubscribe(uri: string): Promise<void>
  /** From now on, changes of lists are reported. */
  watchLists(): Promise<void>
  close(): Promise<void>
}

export type LogLevel = 'debug' | 'info' | 'warning' | 'error'

export interface PeerOptions {
  /** The name that is in all its answers. */
  readonly name: string
  readonly path: string
  /** Declares sampling, elicitation and roots, and answers in this manner. `true`: with its name. */
  readonly asked?: Manner
  /** The folder that is its root; it also announces changes of it. Default: a folder that does not exist. */
  readonly root?: string
}

/** `fails`: answers with an error of the code -1; `hangs`: never answers; `declines`: declines requests to the user. */
export type Manner = boolean | 'declines' | 'fails' | 'hangs'

/** The capabilities that it declares. */
function capabilitiesOf({ asked, root }: PeerOptions): Pick<ClientOptions, 'capabilities'> {
  if (!asked) return {}
  return { capabilities: { sampling: {}, elicitation: {}, roots: root === undefined ? {} : { listChanged: true } } }
}

function nothingHeard(): Heard {
  return { progress: [], logs: [], updates: [], changes: { tools: 0, prompts: 0, resources: 0 }, asked: [] }
}

/** Answers of a client, in the shapes of the protocol. Each handler records the request. */
function answersOf({ name, asked: manner, root = `/${name}` }: PeerOptions, { asked }: Heard) {
  const hear = async (question: string): Promise<void> => {
    asked.push(question)
    if (manner === 'fails') throw Object.assign(new Error('The user does not want to'), { code: -1 })
    if (manner === 'hangs') await new Promise(() => {})
  }
  return {
    sampling: async (prompt: string) => {
      await hear(`sampling ${prompt}`)
      return {
        model: 'none',
        role: 'assistant' as const,
        content: { type: 'text' as const, text: `sampled by ${name}` },
      }
    },
    elicitation: async (message: string) => {
      await hear(`elicitation ${message}`)
      if (manner === 'declines') return { action: 'decline' as const }
      return {
        action: 'accept' as const,
        content: { username: name, email: `${name}@example.org`, name, color: 'red', context: name },
      }
    },
    roots: async () => {
      await hear('roots')
      return { roots: [{ uri: `file://${root}`, name }] }
    },
  }
}

/** The newer package follows the pages itself. */
async function namesOf(client: OlderClient | McpClient, kind: ListKind): Promise<string[]> {
  if (kind === 'tools') return toolNames(client as OlderClient)
  if (kind === 'prompts') return (await client.listPrompts()).prompts.map(({ name }) => name)
  return (await client.listResources()).resources.map(({ name }) => name)
}

/** A client of `@modelcontextprotocol/sdk`, which speaks up to 2025-11-25. */
export async function olderPeer(client: Client, sse: boolean, options: PeerOptions): Promise<Peer> {
  const heard = nothingHeard()
  const prepare = (one: OlderClient): void => {
    one.setNotificationHandler(ProgressNotificationSchema, ({ params }) => {
      heard.progress.push([params.progressToken, params.progress, params.message])
    })
    one.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      heard.logs.push([params.level, params.data])
    })
    one.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      heard.updates.push(params.uri)
    })
    one.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      heard.changes.tools += 1
    })
    one.setNotificationHandler(PromptListChangedNotificationSchema, () => {
      heard.changes.prompts += 1
    })
    one.setNotificationHandler(ResourceListChangedNotificationSchema, () => {
      heard.changes.resources += 1
    })
    if (!options.asked) return
    const answers = answersOf(options, heard)
    one.setRequestHandler(CreateMessageRequestSchema, ({ params }) => answers.sampling(JSON.stringify(params.messages)))
    one.setRequestHandler(ElicitRequestSchema, ({ params }) => answers.elicitation(params.message))
    one.setRequestHandler(ListRootsRequestSchema, () => answers.roots())
  }
  const one = await client.mcp(options.path, { sse, prepare, ...capabilitiesOf(options) })
  return {
    heard,
    call: async (name, args, { token, signal } = {}) => {
      const _meta = token === undefined ? {} : { _meta: { progressToken: token } }
      const request = { method: 'tools/call' as const, params: { name, arguments: args, ..._meta } }
      return (await one.request(request, CallToolResultSchema, signal ? { signal } : {})) as ToolResult
    },
    names: kind => namesOf(one, kind),
    promptText: async (name, args = {}) => JSON.stringify((await one.getPrompt({ name, arguments: args })).messages),
    read: async uri => (await one.readResource({ uri })).contents.map(part => [part.uri, 'text' in part && part.text]),
    setLevel: async level => void (await one.setLoggingLevel(level)),
    subscribe: async uri => {
      await one.subscribeResource({ uri })
      return true
    },
    unsubscribe: async uri => void (await one.unsubscribeResource({ uri })),
    watchLists: async () => {},
    close: () => one.close(),
  }
}

/** A client of `@modelcontextprotocol/client` that speaks exactly this version. */
export async function newerPeer(client: Client, version: string, options: PeerOptions): Promise<Peer> {
  const heard = nothingHeard()
  const modern = version >= '2026'
  const speaks: ClientOptions = modern
    ? { versionNegotiation: { mode: { pin: version } } }
    : { versionNegotiation: { mode: 'legacy' }, supportedProtocolVersions: [version] }
  const one = new McpClient({ name: options.name, version: '1.0.0' }, { ...speaks, ...capabilitiesOf(options) })
  one.setNotificationHandler('notifications/progress', ({ params }) => {
    heard.progress.push([params.progressToken, params.progress, params.message])
  })
  one.setNotificationHandler('notifications/message', ({ params }) => {
    heard.logs.push([params.level, params.data])
  })
  one.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    heard.updates.push(params.uri)
  })
  for (const kind of ['tools', 'prompts', 'resources'] as const)
    one.setNotificationHandler(`notifications/${kind}/list_changed`, () => {
      heard.changes[kind] += 1
    })
  if (options.asked) {
    const answers = answersOf(options, heard)
    one.setRequestHandler('sampling/createMessage', ({ params }) => answers.sampling(JSON.stringify(params.messages)))
    one.setRequestHandler('elicitation/create', ({ params }) => answers.elicitation(params.message))
    one.setRequestHandler('roots/list', () => answers.roots())
  }
  const authorization = `Bearer ${await client.mcpKey()}`
  const url = new URL(options.path, client.url)
  await one.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization } } }))
  if (one.getNegotiatedProtocolVersion() !== version)
    throw new Error(`Asked for ${version} and got ${one.getNegotiatedProtocolVersion()}`)

  let level: string | undefined
  const listening = new Map<string, { close(): Promise<void> }>()
  const listen = async (key: string, filter: Parameters<McpClient['listen']>[0]) => {
    const subscription = await one.listen(filter)
    listening.set(key, subscription)
    return subscription.honoredFilter
  }
  return {
    heard,
    call: async (name, args, { token, signal } = {}) => {
      const _meta = {
        ...(token === undefined ? {} : { progressToken: token }),
        ...(modern && level !== undefined ? { 'io.modelcontextprotocol/logLevel': level } : {}),
      }
      const params = { name, arguments: args, ...(Object.keys(_meta).length > 0 ? { _meta } : {}) }
      return (await one.callTool(
        params as Parameters<McpClient['callTool']>[0],
        signal ? { signal } : {},
      )) as ToolResult
    },
    names: kind => namesOf(one, kind),
    promptText: async (name, args = {}) => JSON.stringify((await one.getPrompt({ name, arguments: args })).messages),
    read: async uri => (await one.readResource({ uri })).contents.map(part => [part.uri, 'text' in part && part.text]),
    setLevel: async wanted => {
      level = wanted
      if (!modern) await one.setLoggingLevel(wanted)
    },
    subscribe: async uri => {
      if (modern)
        return (await listen(uri, { resourceSubscriptions: [uri] })).resourceSubscriptions?.includes(uri) ?? false
      await one.subscribeResource({ uri })
      return true
    },
    unsubscribe: async uri => {
      if (modern) await listening.get(uri)?.close()
      else await one.unsubscribeResource({ uri })
    },
    watchLists: async () => {
      const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
      if (modern) await listen('lists', all)
    },
    close: () => one.close(),
  }
}
