import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  LoggingMessageNotificationSchema,
  type Progress,
  PromptListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Client } from '../support/hub.ts'
import { atLeast, atMost } from '../support/pace.ts'
import { type BesideReference, besideReference } from '../support/reference.ts'
import { atWork, callText, failureOf, online, type RpcFailure, toolNames } from '../support/servers.ts'
import { least, timed, until } from '../support/wait.ts'
import { sharedFixture } from './shared-fixture.ts'

const WATCHED = 'test://watched-resource'

let world: BesideReference
let admin: Client

beforeAll(async () => {
  world = await besideReference('legacy', remote => ({
    settings: {
      mcpServers: { remote, slow: sharedFixture('slow'), asking: sharedFixture('asking') },
      groups: [{ name: 'g', servers: ['remote', 'slow', 'asking'] }],
    },
  }))
  admin = world.admin
}, 120_000)

afterAll(() => world?.stop(), 120_000)

describe('progress', () => {
  test('P-08, P-13 progress comes one by one, rising, under the token of the client, and ends with the answer', async () => {
    const client = await admin.mcp('/mcp/g')
    const seen: { readonly progress: Progress; readonly at: number }[] = []
    const start = performance.now()
    await client.callTool({ name: 'wait', arguments: { ms: 900 } }, undefined, {
      onprogress: progress => seen.push({ progress, at: performance.now() - start }),
    })
    const count = seen.length
    expect(count).toBeGreaterThan(5)
    const values = seen.map(({ progress }) => progress.progress)
    expect(values).toEqual([...values].sort((a, b) => a - b))
    expect(new Set(values).size).toBe(count)
    // They came one by one and not all with the answer: the first came long before the last.
    expect((seen.at(-1)?.at ?? 0) - (seen[0]?.at ?? 0)).toBeGreaterThan(150)
    await callText(client, 'quick')
    expect(seen).toHaveLength(count)
  })

  test('P-11 two sessions on one shared upstream, with equal tokens, get their own', async () => {
    const [first, second] = [await admin.mcp('/mcp/g'), await admin.mcp('/mcp/g')]
    const totals: (number | undefined)[][] = [[], []]
    const run = (client: typeof first, index: number, ms: number) =>
      client.callTool({ name: 'wait', arguments: { ms } }, undefined, {
        onprogress: progress => totals[index]?.push(progress.total),
      })
    await Promise.all([run(first, 0, 200), run(second, 1, 240)])
    expect(new Set(totals[0])).toEqual(new Set([200]))
    expect(new Set(totals[1])).toEqual(new Set([240]))
  })
})

describe('cancellation', () => {
  test('reaches the upstream under its own id, and the session continues', async () => {
    const client = await admin.mcp('/mcp/g')
    const before = Number(await callText(client, 'cancelled'))
    const leaving = new AbortController()
    const call = client.callTool({ name: 'wait', arguments: { ms: 20_000 } }, undefined, { signal: leaving.signal })
    await atWork(admin, client)
    leaving.abort('changed my mind')
    await failureOf(call)
    await until(async () => Number(await callText(client, 'cancelled')) === before + 1, {
      what: 'the upstream to be told',
    })
  })

  test('P-15 a call beyond the limit of its server is cancelled upstream and fails with upstream_timeout', async () => {
    const hastyMs = atLeast(400)
    await admin.ok('POST', '/api/servers', { name: 'hasty', ...sharedFixture('slow'), timeout: hastyMs })
    await online(admin, ['hasty'])
    const client = await admin.mcp('/mcp/hasty')
    const { value: failure, ms } = await timed(() => failureOf(callText(client, 'wait', { ms: 20_000 })))
    expect(failure.code).toBe(-32603)
    expect(failure.data?.code).toBe('upstream_timeout')
    expect(ms).toBeGreaterThan(hastyMs - 20)
    expect(ms).toBeLessThan(hastyMs + atMost(1_100))
    await until(async () => (await callText(client, 'cancelled')) === '1', { what: 'the upstream to be told' })
  })
})

describe('P-15 progress', () => {
  const call = async (ms: number, withProgress: boolean) => {
    const client = await admin.mcp('/mcp/patient')
    const options = { timeout: 30_000, ...(withProgress ? { onprogress: () => undefined } : {}) }
    return timed(() =>
      client.callTool({ name: 'wait', arguments: { ms } }, undefined, options).then(
        result => JSON.stringify(result.content),
        (error: RpcFailure) => error.data?.code,
      ),
    )
  }

  test('P-15 extends the time of a call up to maxTimeout and not beyond, and the late answer goes nowhere', async () => {
    const ms = atLeast(400)
    const limits = { timeout: ms, maxTimeout: 4 * ms }
    await admin.ok('POST', '/api/servers', { name: 'patient', ...sharedFixture('slow'), ...limits })
    await online(admin, ['patient'])
    const [silent, told, long] = await Promise.all([call(2 * ms, false), call(2 * ms, true), call(7 * ms, true)])
    expect(silent.value).toBe('upstream_timeout')
    expect(silent.ms).toBeLessThan(ms + atMost(390))
    expect(told.value).toContain(`waited ${2 * ms}`)
    expect(long.value).toBe('upstream_timeout')
    expect(long.ms).toBeGreaterThan(4 * ms - 100)
    expect(long.ms).toBeLessThan(4 * ms + atMost(900))
    expect((await call(10, false)).value).toContain('waited 10')
  })
})

describe('list_changed', () => {
  test('P-20 an upstream that gains a tool: each session is notified, and the next list has the tool', async () => {
    const heard = [0, 0]
    const listen = (index: number) =>
      admin.mcp('/mcp/g', {
        prepare: client =>
          client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
            heard[index] = (heard[index] ?? 0) + 1
          }),
      })
    const [caller, other] = [await listen(0), await listen(1)]
    const extra = `extra_${await callText(caller, 'grow')}`
    await until(() => heard.every(count => count >= 1), { what: 'both sessions to hear' })
    expect(await toolNames(caller)).toContain(extra)
    expect(await callText(other, extra)).toBe(extra.slice(6))
  })

  test('P-20 a notice of changed prompts is relayed even if nothing differs', async () => {
    let heard = 0
    const client = await admin.mcp('/mcp/remote', {
      prepare: one =>
        one.setNotificationHandler(PromptListChangedNotificationSchema, () => {
          heard += 1
        }),
    })
    await callText(client, 'test_trigger_prompt_change')
    await until(() => heard > 0, { what: 'the notice' })
  })

  test('P-20 a member that leaves the group takes its tools along, and sessions of other groups get no notification', async () => {
    await admin.ok('POST', '/api/groups', { name: 'h', members: ['slow', 'asking'] })
    await admin.ok('POST', '/api/groups', { name: 'other', members: ['slow'] })
    const heard: string[] = []
    const listen = (name: string) =>
      admin.mcp(`/mcp/${name}`, {
        prepare: client =>
          client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.push(name)),
      })
    const [changed] = [await listen('h'), await listen('other')]
    expect(await toolNames(changed)).toContain('sample')
    await admin.ok('DELETE', '/api/groups/h/members/asking')
    await until(() => heard.includes('h'), { what: 'the notice' })
    expect(await toolNames(changed)).not.toContain('sample')
    expect(heard).not.toContain('other')
    const failure = await failureOf(callText(changed, 'sample'))
    expect(failure.code).toBe(-32602)
  })
})

describe('subscriptions', () => {
  const updateUpstream = (): Promise<number> => world.reference.update(WATCHED)

  test('an update reaches who subscribed, once each, and nobody after unsubscribing', async () => {
    const heard: string[] = []
    const listen = (name: string) =>
      admin.mcp('/mcp/g', {
        prepare: client =>
          client.setNotificationHandler(
            ResourceUpdatedNotificationSchema,
            ({ params }) => void heard.push(`${name} ${params.uri}`),
          ),
      })
    const [one, two] = [await listen('one'), await listen('two'), await listen('idle')]
    await one.subscribeResource({ uri: WATCHED })
    await two.subscribeResource({ uri: WATCHED })
    expect(await updateUpstream()).toBeGreaterThan(0)
    await until(() => heard.length >= 2, { what: 'both to hear' })
    expect([...heard].sort()).toEqual([`one ${WATCHED}`, `two ${WATCHED}`])

    await one.unsubscribeResource({ uri: WATCHED })
    heard.length = 0
    await updateUpstream()
    await until(() => heard.length > 0, { what: 'the other to hear' })
    expect(heard).toEqual([`two ${WATCHED}`])

    await two.unsubscribeResource({ uri: WATCHED })
    await until(async () => (await updateUpstream()) === 0, { what: 'the last subscription upstream to go' })
  })
})

describe('log messages', () => {
  test('P-21 each session gets those of its own calls from its own level up', async () => {
    const heard: Record<string, string[]> = { loud: [], calm: [] }
    const listen = (name: string) =>
      admin.mcp('/mcp/remote', {
        prepare: client =>
          client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
            heard[name]?.push(`${params.level}: ${String(params.data)}`)
          }),
      })
    const [loud, calm] = [await listen('loud'), await listen('calm')]
    await loud.setLoggingLevel('debug')
    await calm.setLoggingLevel('error')
    await callText(loud, 'test_tool_with_logging')
    await callText(calm, 'test_tool_with_logging')
    await until(() => heard.loud?.length === 3, { what: 'three messages' })
    expect(heard.loud).toEqual([
      'info: Tool execution started',
      'info: Tool processing data',
      'info: Tool execution completed',
    ])
    expect(heard.calm).toEqual([])
  })
})

describe('completion', () => {
  test('P-17 reaches the prompt and the template of their own server, under the exposed name', async () => {
    const client = await admin.mcp('/mcp/g')
    const prompt = await client.complete({
      ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
      argument: { name: 'arg1', value: 'par' },
      context: { arguments: { arg2: 'x' } },
    })
    expect(prompt.completion.values).toEqual(['paris', 'park', 'party'])
    const template = await client.complete({
      ref: { type: 'ref/resource', uri: 'test://template/{id}/data' },
      argument: { name: 'id', value: '12' },
    })
    expect(template.completion.values).toEqual(['12', '123'])
  })

  test('an unknown prompt or template is -32602', async () => {
    const client = await admin.mcp('/mcp/g')
    const argument = { name: 'x', value: '' }
    const unknown = [
      client.complete({ ref: { type: 'ref/prompt', name: 'no_such_prompt' }, argument }),
      client.complete({ ref: { type: 'ref/resource', uri: 'nothing://{x}' }, argument }),
    ]
    for (const work of unknown) expect((await failureOf(work)).code).toBe(-32602)
  })
})

test('P-22 ping is answered within 100 ms while an upstream hangs', async () => {
  const client = await admin.mcp('/mcp/slow')
  const leaving = new AbortController()
  const hanging = client
    .callTool({ name: 'wait', arguments: { ms: 20_000 } }, undefined, { signal: leaving.signal })
    .catch(() => undefined)
  expect(await least(async () => (await timed(() => client.ping())).ms)).toBeLessThan(atMost(100))
  leaving.abort()
  await hanging
})
