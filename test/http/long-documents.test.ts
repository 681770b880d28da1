import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { StubbornClient } from '../support/stubborn-client.ts'
import { until } from '../support/wait.ts'

const MIB = 2 ** 20
const PATH = '/api/servers/pets/document'

let hub: Hub
let user: Client
let reader: StubbornClient
beforeAll(async () => {
  hub = await startHub()
  await hub.setup()
  user = await hub.user('ada')
  reader = new StubbornClient(hub)
})
afterAll(() => {
  reader?.close()
  return hub?.stop()
})

/** A document whose text has about this many bytes. */
function documentOf(bytes: number, title: string): object {
  const head = { openapi: '3.1.0', info: { title, version: '1' }, servers: [{ url: 'https://pets.example/' }] }
  return { ...head, paths: {}, 'x-padding': 'é'.repeat(bytes / 2) }
}

function usedBytes(): Promise<number> {
  return user
    .ok('GET', '/api/limits')
    .then(({ items }) => items.find((item: { name: string }) => item.name === 'bytesInFlightPerUser').used)
}

const sizes = [1_000, MIB - 200, 3.4 * MIB]

test.each(sizes)('a document of %d bytes is read as it was saved', async bytes => {
  const document = documentOf(bytes, 'Pets')
  await user.ok('POST', '/api/servers', { name: 'pets', openapi: { schema: document }, enabled: false })
  const response = await fetch(`${hub.url}${PATH}`, { headers: { authorization: `Bearer ${user.token}` } })
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(await response.text()).toBe(JSON.stringify(document))
  const head = await fetch(`${hub.url}${PATH}`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${user.token}` },
  })
  expect([head.status, await head.text()]).toEqual([200, ''])
  await user.ok('DELETE', '/api/servers/pets')
  expect(await usedBytes()).toBe(0)
})

test('a long document that is replaced while it is read ends the connection, and one part of it is charged', async () => {
  await user.ok('POST', '/api/servers', {
    name: 'pets',
    openapi: { schema: documentOf(12 * MIB, 'Old') },
    enabled: false,
  })
  const socket = await reader.send([`GET ${PATH} HTTP/1.1`, `Authorization: Bearer ${user.token}`])
  await until(async () => (await usedBytes()) > 0)
  expect(await usedBytes()).toBe(MIB)
  await user.ok('PATCH', '/api/servers/pets', { openapi: { schema: documentOf(1_000, 'New') } })
  const received: Buffer[] = []
  const closed = new Promise(resolve => socket.once('close', resolve))
  socket.on('data', chunk => received.push(Buffer.from(chunk)))
  socket.resume()
  await closed
  const text = Buffer.concat(received).toString('latin1')
  expect(text.slice(0, 15)).toBe('HTTP/1.1 200 OK')
  // The last chunk of a whole body has the size 0.
  expect(text.endsWith('\r\n0\r\n\r\n')).toBe(false)
  expect(text.length).toBeLessThan(11 * MIB)
  await until(async () => (await usedBytes()) === 0)
  expect((await user.ok('GET', PATH)).info.title).toBe('New')
})
