import { afterEach, describe, expect, test } from 'bun:test'
import type { AskReply, SessionBinding, UpstreamCall, UpstreamRequest } from '../../../core/connections/api.ts'
import type { JsonObject } from '../../../core/contract/json.ts'
import { bothTransports, httpRecord, ModernHttp, type Seen } from './modern-http.ts'
import { type Rig, startRig, textOf, until } from './support.ts'

const running: AsyncDisposable[] = []

afterEach(async () => {
  for (const one of running.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

/** A hub with a modern server whose tool answers as `answer` says. */
async function start(
  answer: (message: Seen) => JsonObject,
): Promise<{ readonly rig: Rig; readonly server: ModernHttp }> {
  const server = new ModernHttp()
  running.push(server)
  server.answers['tools/call'] = answer
  server.answers['completion/complete'] = answer
  const rig = await startRig([httpRecord('m', server.url)], { transports: bothTransports })
  running.push({ [Symbol.asyncDispose]: () => rig.dispose() })
  await rig.connections.settled('m', 60_000)
  return { rig, server }
}

const elicit = { method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object' } } }
const sample = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }

function asking(inputRequests: JsonObject, requestState?: string): JsonObject {
  return { resultType: 'input_required', inputRequests, ...(requestState === undefined ? {} : { requestState }) }
}

function done(value: unknown): JsonObject {
  return { resultType: 'complete', content: [{ type: 'text', text: JSON.stringify(value) }] }
}

function call(rig: Rig, ask: UpstreamRequest['ask'], more: Partial<UpstreamRequest> = {}): UpstreamCall {
  const session: SessionBinding = {
    id: 's',
    userId: 'user-1',
    kind: 'session',
    capabilities: { sampling: {}, elicitation: {}, roots: {} },
    protocolVersion: '2025-11-25',
  }
  return rig.connections.request('m', {
    method: 'tools/call',
    params: { name: 'echo', arguments: { a: 1 } },
    session,
    ...(ask ? { ask } : {}),
    ...more,
  })
}

describe('a server that asks in its answer', () => {
  test('gets all answers at once in a second request with its state, whose id is new', async () => {
    const { rig, server } = await start(({ params }) =>
      params.inputResponses === undefined
        ? asking({ a: elicit, b: sample }, 'st\u00e4te')
        : done(params.inputResponses),
    )
    const asked: string[] = []
    const both = Promise.withResolvers<void>()
    const reply = await call(rig, async (method, params) => {
      asked.push(`${method} ${Object.keys(params ?? {}).join()}`)
      if (asked.length === 2) both.resolve()
      // Both requests must arrive before either is answered.
      await both.promise
      return { result: { method } }
    }).reply
    expect(asked).toEqual(['elicitation/create message,requestedSchema', 'sampling/createMessage messages,maxTokens'])
    expect(JSON.parse(textOf(reply))).toEqual({ a: { method: elicit.method }, b: { method: sample.method } })
    const [first, second] = server.of('tools/call')
    expect(first?.params).not.toHaveProperty('requestState')
    expect(second?.params.requestState).toBe('st\u00e4te')
    expect(second?.params.arguments).toEqual({ a: 1 })
    expect(second?.id).not.toBe(first?.id)
  })

  test('without a question is asked again at once, and a state that it left out does not come back', async () => {
    const { rig, server } = await start(({ params }) => {
      if (params.requestState === 'one') return asking({ a: elicit })
      return params.inputResponses === undefined ? { resultType: 'input_required', requestState: 'one' } : done('ok')
    })
    expect(textOf(await call(rig, async () => ({ result: {} })).reply)).toBe('"ok"')
    const third = server.of('tools/call')[2]?.params
    expect(third).toHaveProperty('inputResponses')
    expect(third).not.toHaveProperty('requestState')
  })

  test('receives declining and cancelling as answers', async () => {
    const { rig } = await start(({ params }) =>
      params.inputResponses === undefined ? asking({ a: elicit }) : done(params.inputResponses),
    )
    for (const action of ['decline', 'cancel']) {
      const reply = await call(rig, async () => ({ result: { action } })).reply
      expect(JSON.parse(textOf(reply))).toEqual({ a: { action } })
    }
  })

  test('an error of the client ends the call with that error, and withdraws the other questions', async () => {
    const { rig, server } = await start(() => asking({ a: elicit, b: sample }))
    let withdrawn = false
    const ask = async (method: string, _: unknown, signal: AbortSignal): Promise<AskReply> => {
      if (method === elicit.method) return { error: { code: -1, message: 'not now', data: { a: 1 } } }
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      withdrawn = true
      return { error: { code: -32603, message: 'withdrawn' } }
    }
    const reply = await call(rig, ask).reply
    expect(reply).toEqual({ kind: 'error', error: { code: -1, message: 'not now', data: { a: 1 } } })
    expect(withdrawn).toBe(true)
    expect(server.of('tools/call')).toHaveLength(1)
  })

  test('may ask eight times, and not once more', async () => {
    const { rig, server } = await start(() => asking({ a: elicit }))
    const reply = await call(rig, async () => ({ result: {} })).reply
    expect(reply).toMatchObject({ kind: 'failed', code: 'upstream_protocol' })
    expect(server.of('tools/call')).toHaveLength(9)
  })

  test('asks nobody who cannot answer', async () => {
    const { rig } = await start(() => asking({ a: elicit, b: sample }))
    let asked = 0
    const ask = async (): Promise<AskReply> => {
      asked += 1
      return { result: {} }
    }
    const session: SessionBinding = {
      ...{ id: 's', userId: 'user-1', kind: 'session', protocolVersion: '2025-11-25' },
      capabilities: { elicitation: {} },
    }
    const missing = { kind: 'failed', code: 'client_capability_missing' }
    expect(await call(rig, ask, { session }).reply).toMatchObject(missing)
    expect(await call(rig, undefined).reply).toMatchObject(missing)
    expect(asked).toBe(0)
  })

  test('asks by an address under an id, which the earlier era wants', async () => {
    const url = { method: 'elicitation/create', params: { mode: 'url', message: 'Go', url: 'https://example.org' } }
    const { rig } = await start(({ params }) => (params.inputResponses === undefined ? asking({ a: url }) : done('ok')))
    let params: JsonObject | undefined
    await call(rig, async (_, given) => {
      params = given
      return { result: { action: 'accept' } }
    }).reply
    expect(params).toMatchObject(url.params)
    expect(String(params?.elicitationId)).toMatch(/^[0-9a-f-]{36}$/)
  })

  test.each<[string, JsonObject]>([
    ['nothing', { resultType: 'input_required' }],
    ['a method that clients do not have', asking({ a: { method: 'tools/call', params: {} } })],
    ['no request', asking({ a: 1 })],
  ])('for %s fails the call', async (_, answer) => {
    const { rig } = await start(() => answer)
    const reply = await call(rig, async () => ({ result: {} })).reply
    expect(reply).toMatchObject({ kind: 'failed', code: 'upstream_protocol' })
  })

  test('on a request that may not be answered so fails it', async () => {
    const { rig } = await start(() => asking({ a: elicit }))
    const reply = await call(rig, async () => ({ result: {} }), { method: 'completion/complete', params: {} }).reply
    expect(reply).toMatchObject({ kind: 'failed', code: 'upstream_protocol' })
  })

  test('a caller who gives up meanwhile withdraws the question, and nothing more goes out', async () => {
    const { rig, server } = await start(() => asking({ a: elicit }))
    const withdrawn = Promise.withResolvers<void>()
    let isAsked = false
    const pending = call(rig, async (_, __, signal) => {
      isAsked = true
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      withdrawn.resolve()
      return { result: {} }
    })
    await until('the question', () => isAsked)
    pending.cancel()
    await withdrawn.promise
    expect((await pending.reply).kind).toBe('cancelled')
    expect(server.of('tools/call')).toHaveLength(1)
  })

  test('and a caller of the same era: the question goes out as written, and what it says on its retry comes in', async () => {
    const { rig, server } = await start(({ params }) =>
      params.inputResponses === undefined ? asking({ a: elicit }, 'state') : done(params.inputResponses),
    )
    const capabilities = { elicitation: { form: {} }, experimental: { x: {} } }
    const first = await call(rig, undefined, { modern: { capabilities, logLevel: 'debug' } }).reply
    expect(first.kind).toBe('input_required')
    expect(first.kind === 'input_required' && JSON.parse(first.text)).toEqual(asking({ a: elicit }, 'state'))
    const inputResponses = { a: { action: 'accept' } }
    const modern = { capabilities, inputResponses, requestState: 'state' }
    const second = await call(rig, undefined, { modern }).reply
    expect(second.kind === 'result' && JSON.parse(String(second.text))).toEqual(done(inputResponses))
    const meta = server.of('tools/call')[0]?.params._meta
    expect(meta?.['io.modelcontextprotocol/clientCapabilities']).toEqual({ elicitation: { form: {} } })
    expect(meta?.['io.modelcontextprotocol/logLevel']).toBe('debug')
    expect(server.of('tools/call')[1]?.params.requestState).toBe('state')
  })
})
