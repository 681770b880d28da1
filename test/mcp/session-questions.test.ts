import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { JsonObject } from '../../core/contract/json.ts'
import { answering } from '../support/answering.ts'
import { beyondCore, extent } from '../support/extent.ts'
import { fixture } from '../support/fixtures.ts'
import { type Client, type Hub, ROOT, startHub, stdioFixture } from '../support/hub.ts'
import { atLeast } from '../support/pace.ts'
import { type Program, startProgram } from '../support/program.ts'
import { type Answer, RawClient, SseReader } from '../support/raw-mcp.ts'
import { callText, online } from '../support/servers.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

const QUESTIONS = fixture('questions')
const FILESYSTEM = join(ROOT, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js')
type Wire = 'stdio' | 'sse' | 'http'
/** Transports on which two clients stay for the whole file; the suite of compatibility has two at every kind of server. */
const WIRES = extent<readonly Wire[]>(['http'], ['stdio', 'sse', 'http'])
/** Transports whose servers receive changes of roots. */
const WITH_ROOTS = extent<readonly Wire[]>(['stdio'], ['stdio', 'sse'])
const KINDS = ['sampling', 'elicitation', 'roots'] as const
/** Number of questions to each of two clients. */
const QUESTIONS_EACH = extent(9, 45)
const CAPABILITIES = { sampling: {}, elicitation: {}, roots: { listChanged: true } }

let folder = ''
let sse: Program | undefined
let http: Program
let hub: Hub
let admin: Client

beforeAll(async () => {
  folder = await realpath(await makeTemp('questions'))
  for (const name of ['configured', 'first', 'second']) await mkdir(join(folder, name))
  const program = (wire: Wire) => startProgram(QUESTIONS, { env: { WIRE: wire } })
  ;[sse, http] = await Promise.all([extent(undefined, 'sse' as const) && program('sse'), program('http')])
  const mcpServers = {
    stdio: stdioFixture('questions'),
    http: { url: http.url },
    ...(sse && {
      sse: { url: sse.url, type: 'sse' },
      impatient: { ...stdioFixture('questions'), session: 'per-session', timeout: 3_000 },
      files: {
        command: process.execPath,
        args: [FILESYSTEM, join(folder, 'configured')],
      },
    }),
  }
  hub = await startHub({ settings: { mcpServers } })
  admin = await hub.setup()
  await online(admin, Object.keys(mcpServers))
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await sse?.stop()
  await http?.stop()
  await removeTemp(folder)
}, 120_000)

interface Person {
  readonly client: McpClient
  /** The questions that it was asked, in order. */
  readonly asked: string[]
  /** Its roots. */
  roots: string[]
}

/** A client that answers each question with its own name, after `holds` if that is given. */
async function person(name: string, path: string, holds?: Promise<void>): Promise<Person> {
  const asked: string[] = []
  const roots = [`file:///${name}`]
  const settled: { roots: string[] } = { roots }
  const client = await admin.mcp(path, {
    capabilities: CAPABILITIES,
    prepare: one => {
      one.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => {
        asked.push('sampling')
        await holds
        const [said] = params.messages
        const mark = said && 'text' in said.content ? said.content.text : ''
        return { model: 'none', role: 'assistant', content: { type: 'text', text: `${name} ${mark}` } }
      })
      one.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
        asked.push('elicitation')
        await holds
        return { action: 'accept', content: { name: `${name} ${params.message}` } }
      })
      one.setRequestHandler(ListRootsRequestSchema, () => {
        asked.push('roots')
        return { roots: settled.roots.map(uri => ({ uri })) }
      })
    },
  })
  return {
    client,
    asked,
    get roots() {
      return settled.roots
    },
    set roots(value) {
      settled.roots = value
    },
  }
}

const pairs = new Map<string, Promise<readonly [Person, Person]>>()
/** Anna and Bert at the server of this wire, who stay for the file: over stdio each of them costs a process. */
function pairAt(wire: Wire): Promise<readonly [Person, Person]> {
  const known = pairs.get(wire) ?? Promise.all([person('anna', `/mcp/${wire}`), person('bert', `/mcp/${wire}`)])
  pairs.set(wire, known)
  return known
}

describe('questions that name no call', () => {
  test.each([...WIRES])(
    `two clients at once, ${QUESTIONS_EACH} questions each beside slow calls: each gets its own over %s`,
    async wire => {
      const people = await pairAt(wire)
      const names = ['anna', 'bert']
      const work = people.map(async ({ client }, index) => {
        const slow = [200, 400, 600].map(ms => callText(client, 'slow', { ms }))
        const answers = await Promise.all(
          Array.from({ length: QUESTIONS_EACH }, async (_, turn) => {
            const kind = KINDS[turn % 3]
            const answer = await callText(client, 'ask', { kind, mark: `mark-${turn}` })
            const wanted = kind === 'roots' ? `file:///${names[index]}` : `${names[index]} mark-${turn}`
            return answer.includes(`"${wanted}"`) ? undefined : `${kind}: ${answer}`
          }),
        )
        expect(await Promise.all(slow)).toEqual(['200', '400', '600'])
        return answers
      })
      const wrong = (await Promise.all(work)).flat().filter(answer => answer !== undefined)
      expect(wrong).toEqual([])
    },
    120_000,
  )

  test.each([...WIRES])(
    'a question that is asked when no call is in flight reaches the client over %s',
    async wire => {
      const [{ client }] = await pairAt(wire)
      for (const kind of KINDS) await callText(client, 'later', { kind, mark: 'afterwards' })
      const answers = await until(async () => {
        const all = JSON.parse(await callText(client, 'answers'))
        return all.length === 3 ? all : undefined
      })
      const text = JSON.stringify(answers)
      expect(text).toContain('"anna afterwards"')
      expect(text).toContain('file:///anna')
      expect(text).not.toContain('refused')
    },
    120_000,
  )

  beyondCore(() => {
    test('one does not end with a call that ends meanwhile, and the clocks of calls in flight stand still', async () => {
      const held = Promise.withResolvers<void>()
      const { client, asked } = await person('dora', '/mcp/impatient', held.promise)
      // Its connection is open before a clock runs.
      await callText(client, 'answers')
      const answer = callText(client, 'ask', { kind: 'elicitation', mark: 'slowly', delayMs: 150 })
      const newer = callText(client, 'slow', { ms: 300 })
      await until(() => asked.includes('elicitation'))
      await newer
      // More than the time limit of a call passes while the client is asked; each of these calls ends within it.
      for (let turn = 0; turn < 9; turn += 1) await callText(client, 'slow', { ms: 400 })
      held.resolve()
      expect(await answer).toContain('dora slowly')
    }, 120_000)
  })

  test('roots are asked for right after the handshake, and again when the client says that they changed', async () => {
    for (const wire of WITH_ROOTS) {
      const one = await person('emil', `/mcp/${wire}`)
      const seen = async () => JSON.parse(await callText(one.client, 'roots'))
      await until(async () => (await seen()).length === 1)
      expect(await seen()).toEqual([['file:///emil']])
      one.roots = ['file:///elsewhere']
      await one.client.sendRootsListChanged()
      await until(async () => (await seen()).length === 2)
      expect(await seen()).toEqual([['file:///emil'], ['file:///elsewhere']])
    }
  }, 120_000)

  beyondCore(() => {
    test('a file server takes over the roots of its client, and each client has its own', async () => {
      const [first, second] = [await person('first', '/mcp/files'), await person('second', '/mcp/files')]
      first.roots = [`file://${join(folder, 'first')}`]
      second.roots = [`file://${join(folder, 'second')}`]
      const shown = async ({ client }: Person, name: string) => {
        await until(async () => (await callText(client, 'list_allowed_directories')).includes(join(folder, name)))
        return callText(client, 'list_allowed_directories')
      }
      expect(await shown(first, 'first')).not.toContain(join(folder, 'configured'))
      expect(await shown(second, 'second')).not.toContain(join(folder, 'first'))
      first.roots = [`file://${join(folder, 'configured')}`]
      await first.client.sendRootsListChanged()
      expect(await shown(first, 'configured')).not.toContain(join(folder, 'first'))
    }, 120_000)
  })

  test('without a call and a stream it waits for either: the next call carries it, or a GET stream', async () => {
    const key = await admin.mcpKey()
    const raw = await new RawClient(hub, '/mcp/stdio', key).open('2025-11-25', { sampling: {} })
    const call = (name: string, args: JsonObject) => raw.send('tools/call', { name, arguments: args })
    const reply = async (question: Answer | undefined, text: string) => {
      expect(question?.method).toBe('sampling/createMessage')
      const result = { model: 'none', role: 'assistant', content: { type: 'text', text } }
      await raw.post({ jsonrpc: '2.0', id: question?.id, result })
    }
    const answers = async () => JSON.stringify(await raw.call('tools/call', { name: 'answers', arguments: {} }))
    const questionOn = async (stream: SseReader) => {
      for (;;) {
        const message = await stream.message()
        if (message?.method !== 'notifications/tools/list_changed') return message
      }
    }
    let ended = Promise.withResolvers<void>()
    await using gate = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch() {
        await ended.promise
        return new Response('go on')
      },
    })
    /** Has the server ask when no call is in flight. */
    const askLater = async () => {
      ended = Promise.withResolvers()
      await (await call('later', { kind: 'sampling', url: gate.url.href })).text()
      ended.resolve()
    }
    await askLater()
    const carrying = new SseReader(await call('slow', { ms: atLeast(1_000) }))
    await reply(await questionOn(carrying), 'by a call')
    // The call ends with its answer, and its stream with it.
    expect(await carrying.message()).toMatchObject({ result: {} })
    expect(await carrying.event()).toBeUndefined()
    await until(async () => (await answers()).includes('by a call'))
    await askLater()
    const stream = new SseReader(await raw.get())
    await reply(await questionOn(stream), 'by the stream')
    await until(async () => (await answers()).includes('by the stream'))
    await stream.close()
    await raw.delete()
  }, 120_000)

  test('it is refused where the client did not declare it, at once', async () => {
    const client = await admin.mcp('/mcp/stdio', { capabilities: { roots: {} } })
    expect(await callText(client, 'ask', { kind: 'elicitation' })).toMatch(/refused|not support/)
  }, 120_000)
})

test.each([...WIRES])(
  'a notification that is not MCP’s own reaches the session of its connection over %s',
  async wire => {
    const words: unknown[][] = [[], []]
    const clients = (await pairAt(wire)).map(({ client }, index) => {
      client.fallbackNotificationHandler = async ({ method, params }) => {
        if (method === 'vendor/shouted') words[index]?.push(params?.word)
      }
      return client
    })
    await Promise.all(clients.map((client, index) => callText(client, 'shout', { word: `word ${index}` })))
    await until(() => words.every(heard => heard.length > 0))
    expect(words).toEqual([['word 0'], ['word 1']])
  },
)

beyondCore(() => {
  test('a first call waits for the stream of a server that is far away, by which it is asked', async () => {
    // Its stream for requests to the client opens later than the first call could be sent.
    const far = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 0,
      async fetch(request) {
        await Bun.sleep(request.method === 'GET' ? 1_500 : 500)
        const { pathname, search } = new URL(request.url)
        const { method, headers, signal } = request
        const body = method === 'GET' ? null : await request.arrayBuffer()
        headers.delete('host')
        return fetch(new URL(pathname + search, http.url), { method, headers, body, signal, decompress: false })
      },
    })
    try {
      const url = new URL(http.url)
      url.port = String(far.port)
      await admin.ok('POST', '/api/servers', { name: 'far', url: url.href })
      await online(admin, ['far'])
      const client = await admin.mcp('/mcp/far', answering('ada').options)
      expect(await callText(client, 'ask', { kind: 'roots', mark: 'm' })).toContain('ada')
      await admin.ok('DELETE', '/api/servers/far')
    } finally {
      await far.stop(true)
    }
  }, 120_000)
})
