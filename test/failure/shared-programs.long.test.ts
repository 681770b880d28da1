/** A program that an owner shares with several users, whose sessions start processes of it: the owner's own servers start all the same. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { LIMITS } from '../../core/config/limits.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { RawClient } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'

setDefaultTimeout(180_000)

/** The smallest server there is: the same answer to every request. */
const info = '"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}'
const result = `{${info},"tools":[{"name":"t","inputSchema":{"type":"object"}}],"content":[]}`
const script = `s/.*"id":\\([0-9]*\\).*/{"jsonrpc":"2.0","id":\\1,"result":${result}}/p`
const program = { command: 'sed', args: ['-u', '-n', script], era: 'legacy' }
/** As many processes as a runtime has threads. */
const wide = `for each in 1 2 3 4 5 6 7 8 9 10; do sleep 600 & done; exec sed -u -n '${script}'`

let hub: Hub
let bob: Client

beforeAll(async () => {
  hub = await startHub()
  await hub.setup()
  bob = await hub.user('bob')
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

test('the processes and threads of an owner’s programs that run for others leave room for the owner’s', async () => {
  const shell = { command: 'sh', args: ['-c', wide], era: 'legacy' }
  await bob.ok('POST', '/api/servers', { name: 'wide', session: 'per-session', ...shell })
  await online(bob, ['wide'])
  const answers = new Set<string>()
  for (const name of ['ann', 'abe']) {
    const guest = await hub.user(name)
    await bob.ok('PUT', `/api/servers/wide/shares/user:${name}`, { role: 'use' })
    const key = await guest.mcpKey()
    for (let session = 0; session < LIMITS.foreignProcessesPerUserAndServer; session += 1) {
      const client = await new RawClient(hub, '/mcp/@bob/wide', key).open()
      const { error } = await client.call('tools/call', { name: 't', arguments: {} })
      answers.add(error ? `${error.data?.code} ${error.message}` : 'answered')
    }
  }
  await bob.ok('POST', '/api/servers', { name: 'after', ...shell })
  await online(bob, ['after'], 20_000)
  expect([...answers]).toEqual(['answered'])
  for (const name of ['wide', 'after']) await bob.ok('DELETE', `/api/servers/${name}`)
})

test('the sessions of colleagues take no process that the owner may have', async () => {
  await bob.ok('POST', '/api/servers', { name: 'each', session: 'per-session', ...program })
  await online(bob, ['each'])
  const most = LIMITS.foreignProcessesPerUserAndServer
  let running = 0
  const refusals = new Set<string>()
  for (let at = 0; at * most <= LIMITS.liveStdioPerUser; at += 1) {
    const guest = await hub.user(`guest${at}`)
    await bob.ok('PUT', `/api/servers/each/shares/user:guest${at}`, { role: 'use' })
    const key = await guest.mcpKey()
    for (let session = 0; session < most; session += 1) {
      const client = await new RawClient(hub, '/mcp/@bob/each', key).open()
      const { error } = await client.call('tools/call', { name: 't', arguments: {} })
      if (error) refusals.add(`${error.data?.code}`)
      else running += 1
    }
  }
  // The program itself is one of the processes of its owner.
  expect([running, [...refusals]]).toEqual([LIMITS.liveStdioPerUser - 1, ['quota_servers']])
  await bob.ok('POST', '/api/servers', { name: 'own', ...program })
  await online(bob, ['own'])
  const limits = (await bob.ok('GET', '/api/limits')).items as { name: string; used: number }[]
  expect(limits.find(({ name }) => name === 'liveStdioPerUser')?.used).toBe(2)
})
