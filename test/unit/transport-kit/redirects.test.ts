import { afterEach, describe, expect, test } from 'bun:test'
import type { GuardedFetch, GuardedRequest } from '../../../core/contract/fetch.ts'
import { createGuardedFetch } from '../../../core/outbound/create.ts'
import { FollowedAddress, fetchFollowing } from '../../../core/transport-kit/redirects.ts'
import { Authority } from '../../support/certificates.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { type RawServer, rawServer } from '../outbound/raw-server.ts'

const ends = new AbortController()
const running: AsyncDisposable[] = []
const folders: string[] = []

afterEach(async () => {
  for (const one of running.splice(0)) await one[Symbol.asyncDispose]()
  await Promise.all(folders.splice(0).map(removeTemp))
})

function guarded(ca?: string): GuardedFetch {
  const rights = { networks: [], admin: true }
  return createGuardedFetch({
    rights,
    instanceId: 'hub-1',
    signal: ends.signal,
    ...(ca === undefined ? {} : { tls: { ca } }),
  })
}

/** Answers each path as `answers` say: a status and where it leads, or 200 with the path as its body. */
async function server(
  answers: Readonly<Record<string, readonly [status: number, location?: string]>>,
  tls?: { key: string; cert: string },
): Promise<RawServer> {
  const made = await rawServer((socket, _index, request) => {
    const path = request.split(' ')[1] ?? ''
    const [status, location] = answers[path] ?? [200]
    const field = location === undefined ? '' : `location: ${location}\r\n`
    const body = status === 200 ? path : 'canary'
    socket.write(`HTTP/1.1 ${status} x\r\n${field}content-length: ${body.length}\r\n\r\n${body}`)
  }, tls)
  running.push(made)
  return made
}

const HEADERS = { authorization: 'Bearer t0ken', 'mcp-session-id': 's1' }
const post = { method: 'POST', headers: HEADERS, body: '{"jsonrpc":"2.0"}' }
const get = { method: 'GET', headers: HEADERS }

const pathsOf = ({ requests }: RawServer): string[] => requests.map(request => request.split(' ').slice(0, 2).join(' '))

/** The end of a request: its last path, or the error. */
async function outcome(promise: Promise<{ readonly response: { text(): Promise<string> } }>): Promise<unknown> {
  return await promise.then(
    async ({ response }) => await response.text(),
    (error: unknown) => error,
  )
}

describe('fetchFollowing()', () => {
  test.each([307, 308])('repeats a POST at HTTP %d with its body and all its headers', async status => {
    const at = await server({ '/mcp': [status, '/mcp/'] })
    const { response, url } = await fetchFollowing(guarded(), at.url, post)
    expect([response.status, await response.text(), url]).toEqual([200, '/mcp/', `${at.url}/`])
    expect(pathsOf(at)).toEqual(['POST /mcp', 'POST /mcp/'])
    for (const request of at.requests) {
      expect(request).toContain('authorization: Bearer t0ken\r\n')
      expect(request).toContain('mcp-session-id: s1\r\n')
      expect(request).toEndWith('\r\n\r\n{"jsonrpc":"2.0"}')
    }
  })

  test.each([301, 302, 303, 307, 308])('repeats a GET at HTTP %d', async status => {
    const at = await server({ '/mcp': [status, 'sub/other?a=1#part'] })
    expect(await outcome(fetchFollowing(guarded(), at.url, get))).toBe('/sub/other?a=1')
    expect(at.requests[1]).toContain('authorization: Bearer t0ken\r\n')
  })

  test.each([301, 302, 303])('does not make a GET of a POST at HTTP %d', async status => {
    const at = await server({ '/mcp': [status, '/secret-place'] })
    const error = await outcome(fetchFollowing(guarded(), at.url, post))
    expect(error).toMatchObject({ code: 'redirect_blocked', data: { status } })
    expect(String(error)).toContain(`redirects a POST with HTTP ${status}`)
    expect(String(error)).toContain('set its final address')
    expect(String(error)).not.toMatch(/secret-place|canary/)
    expect(pathsOf(at)).toEqual(['POST /mcp'])
  })

  test('follows three hops and not four, and ends in a loop', async () => {
    const three = await server({ '/mcp': [307, '/1'], '/1': [308, '/2'], '/2': [307, '/3'] })
    expect(await outcome(fetchFollowing(guarded(), three.url, post))).toBe('/3')
    const loop = await server({ '/mcp': [307, '/back'], '/back': [307, '/mcp'] })
    expect(await outcome(fetchFollowing(guarded(), loop.url, post))).toMatchObject({ code: 'redirect_blocked' })
    expect(loop.requests).toHaveLength(4)
  })

  test('connects to no other origin, however it is written', async () => {
    const elsewhere = await server({})
    const host = `127.0.0.1:${elsewhere.port}`
    for (const location of [
      `http://${host}/mcp`,
      `//${host}/`,
      `/\\${host}/`,
      `http:\\\\${host}`,
      `\thttp://${host}/`,
    ]) {
      const at = await server({ '/mcp': [307, location] })
      const error = await outcome(fetchFollowing(guarded(), at.url, post))
      expect({ location, error }).toMatchObject({ location, error: { code: 'redirect_blocked' } })
      expect(String(error)).toContain('another origin')
      expect(String(error)).not.toContain(String(elsewhere.port))
    }
    expect(elsewhere.connections()).toBe(0)
  })

  test('checks each hop: the second may not leave the origin either', async () => {
    const elsewhere = await server({})
    const at = await server({ '/mcp': [307, '/mcp/'], '/mcp/': [307, elsewhere.url] })
    expect(await outcome(fetchFollowing(guarded(), at.url, post))).toMatchObject({ code: 'redirect_blocked' })
    expect([at.requests.length, elsewhere.connections()]).toEqual([2, 0])
  })

  test.each([
    ['http://user:pass@HOST/mcp/', 'a user name'],
    ['http://', 'no address'],
    ['https://HOST/mcp/', 'begins with https'],
    ['file:///etc/passwd', 'another origin'],
  ])('refuses %s, naming %s', async (location, what) => {
    let own = ''
    const at = await rawServer(socket => {
      socket.write(`HTTP/1.1 307 x\r\nlocation: ${location.replace('HOST', own)}\r\ncontent-length: 0\r\n\r\n`)
    })
    running.push(at)
    own = `127.0.0.1:${at.port}`
    const error = await outcome(fetchFollowing(guarded(), at.url, post))
    expect(error).toMatchObject({ code: 'redirect_blocked' })
    expect(String(error)).toContain(what)
    expect(at.requests).toHaveLength(1)
  })

  test('never goes from https to http, and says so for the same host', async () => {
    const folder = await makeTemp('redirects')
    folders.push(folder)
    const authority = new Authority(folder)
    const plain = await server({})
    const secure = await server({ '/mcp': [307, plain.url] }, authority.issue('up', 'IP:127.0.0.1'))
    const error = await outcome(fetchFollowing(guarded(authority.certificate), secure.url, post))
    expect(error).toMatchObject({ code: 'redirect_blocked' })
    expect(String(error)).toContain('from https to http on the same host')
    expect([secure.requests.length, plain.connections()]).toEqual([1, 0])
  })

  test('leaves a redirect without a Location, and one of another kind, to the caller', async () => {
    const at = await server({ '/mcp': [307] })
    expect((await fetchFollowing(guarded(), at.url, post)).response.status).toBe(307)
    const other = await server({ '/mcp': [304, '/x'] })
    expect((await fetchFollowing(guarded(), other.url, get)).response.status).toBe(304)
  })
})

describe('a FollowedAddress', () => {
  const status = async (address: FollowedAddress, request: GuardedRequest = post): Promise<number> => {
    const response = await address.request(request)
    await response.text()
    return response.status
  }

  test('goes straight to where the first POST was led', async () => {
    const at = await server({ '/mcp': [307, '/mcp/'] })
    const address = new FollowedAddress(guarded(), at.url)
    for (let n = 0; n < 3; n += 1) expect(await status(address)).toBe(200)
    expect(pathsOf(at)).toEqual(['POST /mcp', 'POST /mcp/', 'POST /mcp/', 'POST /mcp/'])
  })

  test('does not take the way of a GET for that of a POST, nor the other way round', async () => {
    const at = await server({ '/mcp': [307, '/mcp/'] })
    const address = new FollowedAddress(guarded(), at.url)
    await status(address, get)
    await status(address)
    await status(address, get)
    expect(pathsOf(at)).toEqual(['GET /mcp', 'GET /mcp/', 'POST /mcp', 'POST /mcp/', 'GET /mcp', 'GET /mcp/'])
  })

  test.each([404, 410, 503])('begins again after HTTP %d at the remembered address', async failing => {
    const answers: Record<string, readonly [number, string?]> = { '/mcp': [307, '/a'] }
    const at = await server(answers)
    const address = new FollowedAddress(guarded(), at.url)
    await status(address)
    Object.assign(answers, { '/mcp': [307, '/b'], '/a': [failing] })
    expect([await status(address), await status(address), await status(address)]).toEqual([failing, 200, 200])
    expect(pathsOf(at).slice(2)).toEqual(['POST /a', 'POST /mcp', 'POST /b', 'POST /b'])
  })

  test('keeps it after a refusal that is no failure of the address', async () => {
    const answers: Record<string, readonly [number, string?]> = { '/mcp': [307, '/a'] }
    const at = await server(answers)
    const address = new FollowedAddress(guarded(), at.url)
    await status(address)
    answers['/a'] = [429]
    await status(address)
    delete answers['/a']
    await status(address)
    expect(pathsOf(at).slice(2)).toEqual(['POST /a', 'POST /a'])
  })

  test('starts again when nobody listens any more, and after a redirect that is not followed', async () => {
    let drops = false
    const at = await rawServer((socket, _index, request) => {
      const path = request.split(' ')[1]
      if (path === '/mcp') socket.write('HTTP/1.1 307 x\r\nlocation: /a\r\ncontent-length: 0\r\n\r\n')
      else if (drops) socket.destroy()
      else socket.write('HTTP/1.1 200 x\r\ncontent-length: 0\r\n\r\n')
    })
    running.push(at)
    const address = new FollowedAddress(guarded(), at.url)
    await status(address)
    drops = true
    expect(await status(address).catch((error: unknown) => error)).toMatchObject({ code: 'connection_lost' })
    drops = false
    await status(address)
    expect(pathsOf(at).slice(2)).toEqual(['POST /a', 'POST /mcp', 'POST /a'])

    const answers: Record<string, readonly [number, string?]> = { '/mcp': [307, '/a'] }
    const other = await server(answers)
    const moved = new FollowedAddress(guarded(), other.url)
    await status(moved)
    answers['/a'] = [302, '/login']
    expect(await status(moved).catch((error: unknown) => error)).toMatchObject({ code: 'redirect_blocked' })
    delete answers['/a']
    await status(moved)
    expect(pathsOf(other).slice(2)).toEqual(['POST /a', 'POST /mcp', 'POST /a'])
  })

  test('keeps it when the caller gives up', async () => {
    let silent = false
    const at = await rawServer((socket, _index, request) => {
      if (request.startsWith('POST /mcp ')) {
        socket.write('HTTP/1.1 307 x\r\nlocation: /a\r\ncontent-length: 0\r\n\r\n')
      } else if (!silent) socket.write('HTTP/1.1 200 x\r\ncontent-length: 0\r\n\r\n')
    })
    running.push(at)
    const address = new FollowedAddress(guarded(), at.url)
    await status(address)
    silent = true
    const abort = new AbortController()
    const given = status(address, { ...post, signal: abort.signal }).catch(() => 0)
    abort.abort()
    expect(await given).toBe(0)
    silent = false
    await status(address)
    expect(pathsOf(at).at(-1)).toBe('POST /a')
    expect(pathsOf(at).filter(path => path === 'POST /mcp')).toHaveLength(1)
  })
})
