import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { atMost } from '../../support/pace.ts'
import { timed, until } from '../../support/wait.ts'
import { startHttp, type TestHttp } from './server.ts'

function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.on('data', data => {
      answer += data
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}

function request(target: string, ...headers: string[]): string {
  return `GET ${target} HTTP/1.1\r\n${['Connection: close', ...headers].join('\r\n')}\r\n\r\n`
}

describe('the server', () => {
  test('foreign Hosts and Origins are 403 everywhere, upgrades and MCP included', async () => {
    await using hub = await startHttp()
    for (const path of [
      '/',
      '/api/servers',
      '/api/stream',
      '/mcp/g',
      '/api/auth/login',
      '/.well-known/oauth-protected-resource/mcp/g',
    ]) {
      const upgrade = ['Upgrade: websocket', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 13']
      for (const headers of [['Host: evil.example'], ['Host: localhost', 'Origin: http://evil.example']]) {
        expect(await raw(hub.port, request(path, ...headers))).toStartWith('HTTP/1.1 403')
        expect(await raw(hub.port, request(path, ...headers, ...upgrade))).toStartWith('HTTP/1.1 403')
      }
    }
  })

  test('refusals under /mcp are JSON-RPC, elsewhere problem+json', async () => {
    await using hub = await startHttp()
    const mcp = await raw(hub.port, request('/mcp/g', 'Host: evil.example'))
    expect(JSON.parse(mcp.split('\r\n\r\n')[1] ?? '')).toMatchObject({
      jsonrpc: '2.0',
      error: { code: -32600, data: { code: 'host_not_allowed' } },
    })
    expect(await raw(hub.port, request('/api/x', 'Host: evil.example'))).toContain('application/problem+json')
    expect(await raw(hub.port, request('/mcp//g', 'Host: localhost'))).toContain('"jsonrpc"')
  })

  test('MCP goes to its endpoint with the path as it came; what only looks alike does not', async () => {
    await using hub = await startHttp({ config: { basePath: '/hub' } })
    const paths = ['/mcp', '/mcp/g%20x', '/mcp/@ada/g']
    for (const path of paths) expect((await (await hub.get(`/hub${path}`)).json()).path).toBe(path)
    for (const path of ['/hub/mcpx', '/hub/MCP/g', '/mcp/g', '/hub/.well-known/other']) {
      expect((await hub.get(path)).status).toBe(404)
    }
  })

  test('a path that the runtime resolves is checked by what it resolves to', async () => {
    await using hub = await startHttp()
    expect(await raw(hub.port, request('/api/public/../admin/users', 'Host: localhost'))).toStartWith('HTTP/1.1 401')
    expect(await raw(hub.port, request('/mcp/%2e%2e/api/admin/users', 'Host: localhost'))).toStartWith('HTTP/1.1 401')
    expect(await raw(hub.port, request('http://evil.example/api/admin/users', 'Host: localhost'))).toStartWith(
      'HTTP/1.1 401',
    )
    expect(await raw(hub.port, request('/api/auth/me', 'Host: localhost', 'Host: localhost'))).toContain(
      'header_duplicate',
    )
  })

  test('an Authorization that came twice is refused', async () => {
    await using hub = await startHttp()
    const header = `Authorization: Bearer ${await hub.tokenOf('ada')}`
    expect(await raw(hub.port, request('/api/auth/me', 'Host: localhost', header))).toStartWith('HTTP/1.1 200')
    expect(await raw(hub.port, request('/api/auth/me', 'Host: localhost', header, header))).toContain(
      'header_duplicate',
    )
  })

  test('a port that is taken is said so', async () => {
    await using hub = await startHttp()
    expect(await startHttp({ config: { port: hub.port } }).catch(error => error)).toMatchObject({
      name: 'StartError',
      code: 'port_in_use',
      exitCode: 1,
    })
  })

  test('administration is closed to addresses that are not on the list', async () => {
    await using hub = await startHttp({ config: { adminAddresses: ['10.0.0.0/8'] } })
    const token = await hub.tokenOf('ada')
    expect(await (await hub.get('/api/admin/users', token)).json()).toMatchObject({ code: 'address_not_allowed' })
    expect((await hub.get('/api/auth/me', token)).status).toBe(200)
    const forwarded = { headers: { 'x-forwarded-for': '10.0.0.1' } }
    expect((await hub.get('/api/admin/users', token, forwarded)).status).toBe(403)
  })

  test('stop() finishes a request in flight and takes no other', async () => {
    const hub: TestHttp = await startHttp()
    await hub.http.stop(true)
    expect(await hub.get('/api/auth/me').catch(() => 'refused')).toBe('refused')
    await hub[Symbol.asyncDispose]()
  })
})

test('stop() waits for no client that never ends its request', async () => {
  await using hub = await startHttp()
  const token = await hub.tokenOf('ada')
  const half = connect(hub.port, '127.0.0.1')
  half.on('error', () => {})
  const head = ['POST /api/keys HTTP/1.1', 'Host: 127.0.0.1', `Authorization: Bearer ${token}`]
  const text = [...head, 'Content-Type: application/json', 'Content-Length: 99', '', '{'].join('\r\n')
  await new Promise(resolve => half.write(text, resolve))
  await until(async () => (await hub.get('/api/auth/me', token)).status === 200)
  const { ms } = await timed(() => hub.http.stop(true))
  expect(ms).toBeLessThan(atMost(5_000))
  half.destroy()
})
