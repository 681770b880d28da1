import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { z } from 'zod'
import { ERROR_CODES } from '../../../core/contract/codes.ts'
import { type ErrorCode, HubError } from '../../../core/contract/errors.ts'
import { readJsonBody } from '../../../core/http/body/body.ts'
import { problemResponse } from '../../../core/http/errors.ts'
import { route } from '../../../core/http/route.ts'
import { startHttp, type TestHttp } from './server.ts'

const LIMIT = 1_000
let hub: TestHttp
let token: string
const taken: unknown[] = []

beforeAll(async () => {
  hub = await startHttp({
    routes: [
      route({
        method: 'POST',
        path: '/api/echo',
        access: 'user',
        summary: 'Takes an object',
        tag: 'test',
        body: z.record(z.string(), z.unknown()),
        bodyLimit: LIMIT,
        responses: { 200: { description: 'Taken' } },
        handle({ body }) {
          taken.push(body)
          return { body: { ok: true } }
        },
      }),
    ],
  })
  token = await hub.tokenOf('ada')
}, 120_000)
afterAll(() => hub[Symbol.asyncDispose](), 120_000)

const code = async (response: Response) => [response.status, (await response.json()).code]
const post = (body: BodyInit | null, headers: Record<string, string> = {}) =>
  fetch(`${hub.url}/api/echo`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body,
  })

/** The first line of the answer to a request that is written byte for byte; the connection is closed then. */
function raw(head: string, ...parts: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(hub.port, '127.0.0.1', () => {
      socket.write(
        `POST /api/echo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n` +
          `Content-Type: application/json\r\n${head}\r\n\r\n`,
      )
      for (const part of parts) socket.write(part)
    })
    socket.on('data', data => {
      answer += data
      if (!answer.includes('"requestId"') && !answer.includes('"ok"')) return
      resolve(`${answer.split('\r\n')[0]} ${/"code":"(\w+)"/.exec(answer)?.[1] ?? 'ok'}`)
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

describe('the body', () => {
  const exact = `{"a":"${'x'.repeat(LIMIT - 8)}"}`

  test('a body of exactly the limit is taken, one byte more is 413, announced', async () => {
    expect(exact).toHaveLength(LIMIT)
    expect((await post(exact)).status).toBe(200)
    expect(await code(await post(`${exact} `))).toEqual([413, 'body_too_large'])
  })

  test('a body of one byte more is 413, chunked', async () => {
    const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
    const chunked = (text: string) =>
      raw('Transfer-Encoding: chunked', chunk(text.slice(0, 500)), chunk(text.slice(500)), '0\r\n\r\n')
    expect(await chunked(exact)).toBe('HTTP/1.1 200 OK ok')
    expect(await chunked(`${exact} `)).toBe('HTTP/1.1 413 Payload Too Large body_too_large')
  })

  test('an endless body is 413 before its end', async () => {
    const part = `${(1_000).toString(16)}\r\n${'x'.repeat(1_000)}\r\n`
    expect(await raw('Transfer-Encoding: chunked', part, part)).toBe('HTTP/1.1 413 Payload Too Large body_too_large')
  })

  test('a length that is announced over the limit is 413 although nothing comes', async () => {
    expect(await raw('Content-Length: 999999')).toBe('HTTP/1.1 413 Payload Too Large body_too_large')
  })

  test.each([
    ['', 'json_empty'],
    ['   ', 'json_empty'],
    ['{', 'json_invalid'],
    ['{"a":1,}', 'json_invalid'],
    ['null', 'json_not_object'],
    ['[]', 'json_not_object'],
    ['"x"', 'json_not_object'],
    ['1', 'json_not_object'],
    ['{"a":1,"a":2}', 'json_duplicate_key'],
    ['{"__proto__":{}}', 'key_forbidden'],
    ['{"a":{"constructor":1}}', 'key_forbidden'],
    [`{"a":${'['.repeat(64)}${']'.repeat(64)}}`, 'json_too_deep'],
  ])('the body %p is 400 %s', async (body, expected) => {
    expect(await code(await post(body))).toEqual([400, expected])
  })

  test('json_invalid says line and column', async () => {
    expect(await (await post('{\n  "a": }')).json()).toMatchObject({ code: 'json_invalid', line: 2, column: 8 })
  })

  test.each([
    ['a byte that is no UTF-8', [0x7b, 0xff, 0x7d]],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
    ['a byte order mark', [0xef, 0xbb, 0xbf, 0x7b, 0x7d]],
    ['an overlong form', [0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d]],
  ])('a body with %s is 400 json_encoding', async (_what, bytes) => {
    expect(await code(await post(new Uint8Array(bytes)))).toEqual([400, 'json_encoding'])
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
    'json',
    'application/jsonx',
  ])('the type %s is 415', async type => {
    const response = await post('{}', { 'content-type': type })
    expect(response.headers.get('accept')).toBe('application/json')
    expect(await code(response)).toEqual([415, 'content_type'])
  })

  test.each(['application/json; charset=utf-8', 'application/merge-patch+json', 'Application/JSON;charset="UTF-8"'])(
    'the type %s is taken',
    async type => {
      expect((await post('{}', { 'content-type': type })).status).toBe(200)
    },
  )

  test.each(['gzip', 'br', 'identity, gzip'])('the encoding %s is 415', async encoding => {
    expect(await code(await post('{}', { 'content-encoding': encoding }))).toEqual([415, 'encoding_not_supported'])
  })

  test('nothing of a refused body reaches the handler', async () => {
    const before = taken.length
    await post('{"a":1,"a":2}')
    await post(`${exact} `)
    expect(taken).toHaveLength(before)
  })
})

test('readJsonBody() gives up on a body that stalls', async () => {
  let cancelled = false
  const body = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(new TextEncoder().encode('{"a":')),
    cancel: () => {
      cancelled = true
    },
  })
  const headers = { 'content-type': 'application/json' }
  const request = new Request('http://localhost/', { method: 'POST', headers, body })
  const error = await readJsonBody(request, { silenceMs: 30 }).catch((caught: unknown) => caught)
  expect(error).toMatchObject({ code: 'request_timeout', status: 408 })
  expect(cancelled).toBe(true)
})

test('problemResponse() has a status of a refusal for every code, as its header and as its body', async () => {
  const scene = { requestId: 'r1', method: 'POST', path: '/api/x', log: { error: () => {} } }
  for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
    const response = problemResponse(new HubError(code, 'No'), scene)
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(await response.json()).toMatchObject({ code, status: response.status })
  }
})

test('problemResponse() tells nothing of a fault of the hub but the request’s id, and logs it', async () => {
  const logged: unknown[] = []
  const scene = {
    requestId: 'r1',
    method: 'GET',
    path: '/api/x',
    log: { error: (...line: unknown[]) => logged.push(line) },
  }
  const response = problemResponse(new Error('the password is hunter2'), scene)
  const text = await response.text()
  expect(response.status).toBe(500)
  expect(text).toContain('"requestId":"r1"')
  expect(text).not.toContain('hunter2')
  expect(JSON.stringify(logged)).toContain('hunter2')
})
