import { describe, expect, test } from 'bun:test'
import { LIMITS } from '../../../core/config/limits.ts'
import { HubError } from '../../../core/contract/errors.ts'
import { sseEvent, wantsStream } from '../../../core/http/routes/servers/event-reply.ts'
import { answerText } from '../../../core/http/routes/servers/server-tool-call.ts'
import { until } from '../../support/wait.ts'
import { type Asked, ask, bob, catalog, serverRecord, World } from './doubles.ts'

const path = '/api/servers/{ref}/tools/{tool}/call'

function world() {
  const made = new World()
  made.servers = [serverRecord({ visibility: 'public', tools: { off: { enabled: false }, now: { name: 'time_now' } } })]
  made.catalogs.set('s-1', catalog({ name: 'now' }, { name: 'off' }))
  return made
}

function call(made: World, tool: string, more: Partial<Asked> = {}) {
  return ask(made.deps, 'POST', path, { params: { ref: 'ada~time', tool }, body: { arguments: { a: 1 } }, ...more })
}

describe('a tool call over REST', () => {
  test('reaches the tool under its original name and answers the result text as it came', async () => {
    const made = world()
    made.answer = () => ({ kind: 'result', text: '{"structuredContent":{"n":9007199254740993}}', isError: false })
    const { response } = await call(made, 'time_now')
    const text = (await response?.text()) ?? ''
    expect(text).toContain('"result":{"structuredContent":{"n":9007199254740993}}')
    expect(JSON.parse(text)).toMatchObject({ requestId: 'r-1', durationMs: expect.any(Number) })
    expect(made.requests).toMatchObject([{ method: 'tools/call', params: { name: 'now', arguments: { a: 1 } } }])
  })

  test('is recorded for its caller, with the owner of the server', async () => {
    const made = world()
    made.answer = () => ({ kind: 'result', text: '{"isError":true}', isError: true })
    await call(made, 'now', { actor: bob })
    expect(made.records).toMatchObject([
      { userName: 'bob', ownerId: 'u-ada', server: 'time', tool: 'now', status: 'error', requestId: 'r-1' },
    ])
  })

  test('of a tool that is switched off finds none, for the owner too', async () => {
    const made = world()
    await expect(call(made, 'off')).rejects.toMatchObject({ code: 'tool_not_found' })
    made.catalogs.clear()
    await expect(call(made, 'off')).rejects.toMatchObject({ code: 'tool_not_found' })
    expect(made.requests).toEqual([])
  })

  test('passes the middlewares, which see the name for others', async () => {
    const made = world()
    made.middlewares.push({
      method: 'tools/call',
      timeoutMs: 1_000,
      onError: 'closed',
      handle: (message, next) => {
        if (message.params?.name !== 'time_now') throw new HubError('tool_not_found', 'Not by this name')
        return next({ ...message, params: { ...message.params, arguments: { b: 2 } } })
      },
    })
    await call(made, 'now')
    expect(made.requests).toMatchObject([{ params: { name: 'now', arguments: { b: 2 } } }])
  })

  test('of a private server of another owner finds no server', async () => {
    const made = world()
    made.servers = [serverRecord()]
    await expect(call(made, 'now', { actor: bob })).rejects.toMatchObject({ code: 'server_not_found' })
  })

  test('is sent on by the name it has when the server was never online', async () => {
    const made = world()
    made.catalogs.clear()
    await call(made, 'time_now')
    await call(made, 'other')
    expect(made.requests.map(request => request.params?.name)).toEqual(['now', 'other'])
  })

  test('that failed is refused with the reason, and recorded with its code', async () => {
    const made = world()
    made.answer = () => ({ kind: 'failed', code: 'server_offline', message: 'gone' })
    await expect(call(made, 'now')).rejects.toMatchObject({ code: 'server_offline', message: 'gone' })
    expect(made.records).toMatchObject([{ status: 'server_offline' }])
  })

  test('is cancelled at the upstream when the caller goes away', async () => {
    const made = world()
    const gone = new AbortController()
    const { promise, resolve } = Promise.withResolvers<{ kind: 'cancelled' }>()
    made.answer = () => promise
    // expect().rejects would hold the thread until the call ends, and this test has to end the call.
    const refused = call(made, 'now', { signal: gone.signal }).catch(error => error)
    await until(() => made.requests.length === 1)
    gone.abort()
    resolve({ kind: 'cancelled' })
    expect(await refused).toMatchObject({ code: 'connection_lost' })
    expect(made.cancelled).toEqual(['The caller went away'])
    expect(made.records).toMatchObject([{ status: 'cancelled' }])
  })
})

describe('a tool call as a stream', () => {
  const stream = { headers: { accept: 'text/event-stream' } }

  test('sends a comment before anything else, then progress without a token, then the result', async () => {
    const made = world()
    made.answer = async request => {
      request.progress?.({ progress: 1, total: 2, progressToken: 'inner' })
      return { kind: 'result', text: '{"content":\n[]}', isError: false }
    }
    const { response } = await call(made, 'now', stream)
    expect(response?.headers.get('content-type')).toBe('text/event-stream')
    const text = (await response?.text()) ?? ''
    expect(text.startsWith(': ok\n\nevent: progress\ndata: {"progress":1,"total":2}\n\nevent: result\n')).toBe(true)
    expect(text).toContain('data: {"result":{"content":\ndata: []},')
    expect(text).not.toContain('inner')
  })

  test('says an error in the stream, since its head is long gone', async () => {
    const made = world()
    made.answer = () => ({ kind: 'failed', code: 'upstream_timeout', message: 'slow' })
    const { response } = await call(made, 'now', stream)
    const text = (await response?.text()) ?? ''
    expect(text).toMatch(/event: error\ndata: \{.*"code":"upstream_timeout".*"requestId":"r-1"\}/)
    expect(made.records).toMatchObject([{ status: 'upstream_timeout' }])
  })

  test('that nobody reads counts for the caller, and ends with its call when 1 MiB waits', async () => {
    const made = world()
    const { promise, resolve } = Promise.withResolvers<{ kind: 'cancelled' }>()
    let tellMore = () => {}
    made.answer = request => {
      tellMore = () => request.progress?.({ progress: 1, message: 'x'.repeat(60_000) })
      return promise
    }
    const { response } = await call(made, 'now', { ...stream, actor: bob })
    const account = made.bytes.user(bob.userId)
    await until(() => made.requests.length === 1)
    tellMore()
    expect(account.used).toBeGreaterThan(60_000)
    for (let told = 0; told < 100; told += 1) tellMore()
    expect([account.used, made.cancelled]).toEqual([0, ['The caller went away']])
    resolve({ kind: 'cancelled' })
    await response?.body?.cancel()
  })

  test('says that its result is more than the caller may have in flight', async () => {
    const made = world()
    made.answer = () => ({ kind: 'result', text: `{"content":[],"x":"${'x'.repeat(2_000)}"}`, isError: false })
    made.bytes.user(bob.userId).add(LIMITS.bytesInFlightPerUser - 1_500)
    const { response } = await call(made, 'now', { ...stream, actor: bob })
    expect(await response?.text()).toMatch(/event: error\ndata: \{.*"code":"quota_bytes".*"requestId":"r-1"\}/)
  })

  test('cancels the call when its reader stops', async () => {
    const made = world()
    const { promise, resolve } = Promise.withResolvers<{ kind: 'cancelled' }>()
    made.answer = () => promise
    const { response } = await call(made, 'now', stream)
    const reader = response?.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    expect(made.cancelled).toEqual(['The caller went away'])
    resolve({ kind: 'cancelled' })
  })
})

test('wantsStream() reads the Accept header by its parts', () => {
  const wants = (accept: string) => wantsStream(new Headers({ accept }))
  expect(wants('application/json, text/event-stream;q=0.5')).toBe(true)
  expect(wants('TEXT/EVENT-STREAM')).toBe(true)
  expect(wants('*/*')).toBe(false)
  expect(wantsStream(new Headers())).toBe(false)
})

test('answerText() gives a JSON-RPC error of the upstream as an answer of its own', () => {
  const outcome = { kind: 'error', error: { code: -32602, message: 'bad "x"' } } as const
  expect(JSON.parse(String(answerText({ outcome, durationMs: 2 }, 'r')))).toEqual({
    error: { code: -32602, message: 'bad "x"' },
    durationMs: 2,
    requestId: 'r',
  })
})

test('sseEvent() makes one data line of each line, whatever its end', () => {
  expect(sseEvent('x', 'a\r\nb\rc\nd')).toBe('event: x\ndata: a\ndata: b\ndata: c\ndata: d\n\n')
})
