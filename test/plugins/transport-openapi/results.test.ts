import { describe, expect, test } from 'bun:test'
import { failure, inline, openLink, operation, startApi } from './harness.ts'

const MiB = 1024 * 1024

async function answer(response: () => Response, method = 'get') {
  await using api = await startApi(response)
  await using open = await openLink(inline(operation('/things/{id}', [], {}, method), api.url))
  return await open.call('op', { id: 'a' })
}

describe('results', () => {
  test('an object in JSON is text and structured content, numbers as they were written', async () => {
    const body = '{\n  "id": 12345678901234567891,\r\n  "text": "a\\nb"\n}'
    const result = await answer(
      () => new Response(body, { headers: { 'content-type': 'application/problem+json; charset=utf-8' } }),
    )
    expect(result.content).toEqual([{ type: 'text', text: body }])
    expect(result.structuredContent).toMatchObject({ text: 'a\nb' })
    expect(result.raw).toContain('"structuredContent":{   "id": 12345678901234567891')
    expect(result.isError).toBe(false)
  })

  test.each([
    ['a list', '[1]'],
    ['a text', '"x"'],
    ['null', 'null'],
    ['no JSON', '{"a":'],
  ])('%s under a JSON type is text alone', async (_, body) => {
    const result = await answer(() => new Response(body, { headers: { 'content-type': 'application/json' } }))
    expect(result.content).toEqual([{ type: 'text', text: body }])
    expect(result.structuredContent).toBeUndefined()
  })

  test('images and audio are returned as such, other bytes as a resource without the query', async () => {
    const bytes = Buffer.from([0, 1, 2, 255])
    const typed = (type: string) => answer(() => new Response(bytes, { headers: { 'content-type': type } }))
    expect((await typed('image/png')).content).toEqual([
      { type: 'image', data: bytes.toString('base64'), mimeType: 'image/png' },
    ])
    expect((await typed('audio/mpeg')).content).toEqual([
      { type: 'audio', data: bytes.toString('base64'), mimeType: 'audio/mpeg' },
    ])
    const [block] = (await typed('application/pdf')).content
    expect(block).toMatchObject({
      type: 'resource',
      resource: { mimeType: 'application/pdf', blob: bytes.toString('base64') },
    })
    expect(block?.resource?.uri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/things\/a$/)
  })

  test('texts are read in their charset, and without a type when they are text', async () => {
    const latin = new Response(Buffer.from([0xe9]), { headers: { 'content-type': 'text/plain; charset=iso-8859-1' } })
    expect((await answer(() => latin)).content).toEqual([{ type: 'text', text: 'é' }])
    const xml = new Response('<a/>', { headers: { 'content-type': 'application/atom+xml' } })
    expect((await answer(() => xml)).content).toEqual([{ type: 'text', text: '<a/>' }])
  })

  test('no content is said in words', async () => {
    expect((await answer(() => new Response(null, { status: 204 }))).content).toEqual([
      { type: 'text', text: 'HTTP 204, no content' },
    ])
  })

  test.each([400, 401, 403, 404, 409, 422, 429, 500, 503])(
    'HTTP %d is a failed tool with status and body',
    async status => {
      const result = await answer(() => Response.json({ why: 'because' }, { status }))
      expect(result.isError).toBe(true)
      expect(result.content).toEqual([{ type: 'text', text: `HTTP ${status}\n\n{"why":"because"}` }])
      expect(result.structuredContent).toBeUndefined()
    },
  )

  test('the wait that the API asks for is reported', async () => {
    const slow = () => new Response('slow down', { status: 429, headers: { 'retry-after': '30' } })
    expect((await answer(slow)).content[0]?.text).toBe('HTTP 429, asks to wait 30 s\n\nslow down')
  })

  test('at most 8 KiB of an error body are shown, and of bytes only their number', async () => {
    const long = (await answer(() => new Response('é'.repeat(10_000), { status: 500 }))).content[0]?.text ?? ''
    expect(Buffer.byteLength(long)).toBeLessThan(8 * 1024 + 100)
    expect(long).toEndWith('… (20000 bytes in all)')
    const bytes = await answer(
      () => new Response(new Uint8Array(5000), { status: 500, headers: { 'content-type': 'image/png' } }),
    )
    expect(bytes.content[0]?.text).toBe('HTTP 500\n\n(5000 bytes of image/png)')
  })

  test('an answer over maxResultBytes is result_too_large, whether it says so or not', async () => {
    const chunked = (): Response => {
      let left = 50
      return new Response(
        new ReadableStream({
          pull(controller) {
            if (left-- > 0) controller.enqueue(new Uint8Array(MiB))
            else controller.close()
          },
        }),
      )
    }
    for (const response of [() => new Response(new Uint8Array(5 * MiB)), chunked]) {
      const result = await answer(response)
      expect(result.isError).toBe(true)
      expect(result.content[0]?.text).toMatch(/^result_too_large.*4194304 bytes.*maxResultBytes/)
    }
    const fits = await answer(() => new Response('x'.repeat(4 * MiB), { headers: { 'content-type': 'text/plain' } }))
    expect(fits.content[0]?.text).toHaveLength(4 * MiB)
  })
})

describe('redirects', () => {
  test('GET follows on the same origin, three times at most', async () => {
    await using api = await startApi(({ target }) => {
      const left = Number(new URL(target, 'http://x').searchParams.get('n'))
      if (left > 0) return new Response(null, { status: 302, headers: { location: `/hop?n=${left - 1}` } })
      return new Response(target)
    })
    const schema = operation('/start', [{ name: 'n', in: 'query', schema: {} }])
    await using open = await openLink(inline(schema, api.url, { auth: { type: 'bearer', token: 't0ken' } }))
    expect((await open.call('op', { n: 3 })).content[0]?.text).toBe('/hop?n=0')
    expect(api.last().headers.authorization).toBe('Bearer t0ken')
    expect((await failure(open.call('op', { n: 4 }))).code).toBe('redirect_blocked')
  })

  test('another origin is never asked', async () => {
    await using elsewhere = await startApi()
    await using api = await startApi(
      () => new Response(null, { status: 307, headers: { location: `${elsewhere.url}/x` } }),
    )
    await using open = await openLink(inline(operation('/x', []), api.url))
    expect((await failure(open.call('op'))).code).toBe('redirect_blocked')
    expect(elsewhere.seen).toHaveLength(0)
  })

  test('a POST is not sent again', async () => {
    await using api = await startApi(() => new Response(null, { status: 303, headers: { location: '/done' } }))
    await using open = await openLink(inline(operation('/x', [], {}, 'post'), api.url))
    const result = await open.call('op')
    expect(result.isError).toBe(true)
    expect(result.content[0]?.text).toBe('HTTP 303 redirect to "/done", which is not followed')
    expect(api.seen).toHaveLength(1)
  })
})

describe('failures', () => {
  test('an API that is not there is connection_lost', async () => {
    const api = await startApi()
    await api[Symbol.asyncDispose]()
    await using open = await openLink(inline(operation('/x', []), api.url))
    expect((await failure(open.call('op'))).code).toBe('connection_lost')
  })

  test('an address that the owner may not reach is url_address_blocked, for document and call', async () => {
    await using api = await startApi()
    await using open = await openLink(inline(operation('/x', []), api.url), { admin: false })
    expect((await failure(open.call('op'))).code).toBe('url_address_blocked')
    const opening = openLink({ openapi: { url: `${api.url}/openapi.json` } }, { admin: false })
    expect((await failure(opening)).code).toBe('url_address_blocked')
    expect(api.seen).toHaveLength(0)
  })
})
