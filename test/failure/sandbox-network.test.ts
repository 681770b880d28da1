import { afterAll, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beyondCore } from '../support/extent.ts'
import { type Client, startHub } from '../support/hub.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { knownShutIn as shutIn } from './fixtures/known.ts'
import { SPELLED, SPELLED_AT_LEAST } from './fixtures/spelled.ts'

/** The one address of loopback that is open to everybody's servers. */
const OPEN = '127.0.0.2'
let asked = 0
const site = createServer((request, response) => {
  asked += 1
  request.resume()
  request.on('end', () => response.end(`${request.method} ${request.url} for ${request.headers.host}`))
})
await new Promise<void>(resolve => site.listen(0, OPEN, () => resolve()))
const { port } = site.address() as AddressInfo
const SITE = `http://${OPEN}:${port}`

const hub = await startHub({ env: { OUTBOUND_ALLOW: OPEN } })
const admin = await hub.setup()
const { sandbox: level } = (await admin.ok('GET', '/health')).checks
console.log(`sandbox level of this machine: ${level}`)

afterAll(async () => {
  await hub.stop()
  site.close()
}, 120_000)

const sessions = new Map<string, ReturnType<Client['mcp']>>()

async function ask(client: Client, server: string, tool: string, args: Record<string, unknown> = {}) {
  const path = `/mcp/${server}`
  const place = `${client.name} ${server}`
  sessions.set(place, sessions.get(place) ?? client.mcp(path))
  return JSON.parse(await callText(await (sessions.get(place) as ReturnType<Client['mcp']>), tool, args))
}

function proxied(client: Client, request: string): Promise<string> {
  return ask(client, 'out', 'proxy', { request })
}

function grant(by: Client, name: string, network: string) {
  return by.ok('PATCH', `/api/admin/users/${name}`, { grants: { network } })
}

test('a grant is part of the user, is changed by administrators alone, and knows two values', async () => {
  const una = await hub.user('una')
  expect((await una.ok('GET', '/api/auth/me')).grants).toEqual({ network: 'none' })
  expect((await grant(admin, 'una', 'proxy')).grants).toEqual({ network: 'proxy' })
  expect((await una.request('PATCH', '/api/admin/users/una', { grants: { network: 'proxy' } })).status).toBe(403)
  for (const network of ['host', 'all', 1]) {
    const answer = await admin.request('PATCH', '/api/admin/users/una', { grants: { network } })
    expect([answer.status, answer.json.code]).toEqual([400, 'validation_failed'])
  }
})

if (level === 'full') describe('network "proxy"', permittedNetwork)
else {
  test(`level ${level}: no grant lets an ordinary user’s command run`, async () => {
    const ben = await hub.user('ben')
    await grant(admin, 'ben', 'proxy')
    const answer = await ben.request('POST', '/api/servers', await shutIn('net', { network: 'proxy' }))
    expect([answer.status, answer.json.code]).toEqual([403, 'stdio_not_permitted'])
  })
}

function permittedNetwork(): void {
  test('is refused without the grant and permitted with it; more than it is refused', async () => {
    const ben = await hub.user('ben')
    const create = async (network: string) =>
      ben.request('POST', '/api/servers', await shutIn(`net-${network}`, { network }))
    expect((await create('proxy')).json.code).toBe('network_not_permitted')
    await grant(admin, 'ben', 'proxy')
    expect((await create('proxy')).status).toBe(201)
    expect((await create('host')).json.code).toBe('network_not_permitted')
  })

  test('reaches by tunnel and by plain request what the rules open, and directly nothing', async () => {
    const cid = await hub.user('cid')
    await grant(admin, 'cid', 'proxy')
    await cid.ok('POST', '/api/servers', await shutIn('out', { network: 'proxy' }))
    await online(cid, ['out'])
    expect((await ask(cid, 'out', 'self')).env.HTTPS_PROXY).toBe('http://127.0.0.1:3128')
    expect(await ask(cid, 'out', 'connect', { host: OPEN, ports: [String(port)] })).toEqual([])
    const plain = await proxied(cid, `GET ${SITE}/plain HTTP/1.1\r\nhost: elsewhere\r\nproxy-connection: keep-alive`)
    expect(plain).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(plain).toEndWith(`GET /plain for ${OPEN}:${port}`)
    const tunnel = await proxied(cid, `CONNECT ${OPEN}:${port} HTTP/1.1`)
    expect(tunnel).toMatch(/^HTTP\/1\.1 200 Connection established\r\n\r\nHTTP\/1\.1 200 OK/)
    expect(tunnel).toEndWith('GET /tunnel for inside')
  })

  test('reaches neither loopback, private networks nor metadata where they are closed: 403, and nobody is asked', async () => {
    const dan = await hub.user('dan')
    await grant(admin, 'dan', 'proxy')
    await dan.ok('POST', '/api/servers', await shutIn('out', { network: 'proxy' }))
    await online(dan, ['out'])
    const before = asked
    // A request line holds only ASCII, so no check receives other spellings.
    const spellings = SPELLED.filter(host => /^[!-~]*$/.test(host) && !host.includes('%'))
    const hosts = [...spellings.map(host => `${host}:${port}`), '169.254.169.254:80', new URL(hub.url).host]
    expect(hosts.length).toBeGreaterThanOrEqual(SPELLED_AT_LEAST)
    for (const to of hosts) {
      for (const line of [`CONNECT ${to} HTTP/1.1`, `GET http://${to}/ HTTP/1.1`]) {
        const said = await proxied(dan, line)
        expect([line, said.split('\r\n')[0]]).toEqual([line, 'HTTP/1.1 403 Forbidden'])
        expect(said).toEndWith('\r\n\r\nurl_address_blocked\n')
      }
    }
    const targets = ['127.0.0.1', 'a b:80', 'user@127.0.0.1:80', ':80', '127.0.0.1:0', '127.0.0.1:70000', '/']
    const lines = ['GET / HTTP/1.1', 'GET https://127.0.0.1/ HTTP/1.1', 'GET http://u:p@127.0.0.1/ HTTP/1.1', 'x']
    for (const line of [...targets.map(to => `CONNECT ${to} HTTP/1.1`), ...lines]) {
      expect([line, (await proxied(dan, line)).split('\r\n')[0]]).toEqual([line, 'HTTP/1.1 400 Bad Request'])
    }
    expect(asked).toBe(before)
  }, 120_000)

  test('closes with the server, which ends when the grant is taken back', async () => {
    const eli = await hub.user('eli')
    await grant(admin, 'eli', 'proxy')
    await eli.ok('POST', '/api/servers', await shutIn('out', { network: 'proxy' }))
    await online(eli, ['out'])
    const sockets = () => readdirSync(join(hub.dataDir, 'egress')).length
    const before = sockets()
    expect(before).toBeGreaterThan(0)
    await grant(admin, 'eli', 'none')
    await until(async () => (await statusOf(eli, 'out')).reason?.code === 'network_not_permitted', {
      timeoutMs: 60_000,
    })
    await until(() => sockets() === before - 1, { what: 'the socket to be gone' })
    await grant(admin, 'eli', 'proxy')
    await online(eli, ['out'])
  }, 120_000)

  beyondCore(() => {
    test('gets no variables and no code from files of its folder that Bun would read', async () => {
      const gus = await hub.user('gus')
      await grant(admin, 'gus', 'proxy')
      const body = await shutIn('dotted', { network: 'proxy' })
      // Bun is the program here, too, and must not be the one that reads them.
      const args = ['--no-env-file', '--config=/dev/null', ...(body.args as string[])]
      await gus.ok('POST', '/api/servers', { ...body, args })
      await online(gus, ['dotted'])
      await ask(gus, 'dotted', 'write', { path: '.env', text: 'FROM_A_FILE=1' })
      await ask(gus, 'dotted', 'write', { path: 'bunfig.toml', text: 'broken = [' })
      await gus.ok('POST', '/api/servers/dotted/restart?wait=10s')
      await online(gus, ['dotted'])
      expect((await ask(gus, 'dotted', 'self')).env).not.toHaveProperty('FROM_A_FILE')
    }, 120_000)

    test('says why its program cannot be started, and passes on how it ended', async () => {
      const fay = await hub.user('fay')
      await grant(admin, 'fay', 'proxy')
      await fay.ok('POST', '/api/servers', { name: 'own', command: './program', network: 'proxy' })
      expect(await until(async () => (await statusOf(fay, 'own')).reason?.code)).toBe('command_not_found')
      await fay.ok('POST', '/api/servers', { name: 'ends', command: 'sh', args: ['-c', 'exit 7'], network: 'proxy' })
      const reason = await until(async () => (await statusOf(fay, 'ends')).reason?.message)
      expect(reason).toContain('exit code 7')
    })
  })
}
